"""Skills: procedures in Markdown that a person can read, and everything that keeps them in order."""
