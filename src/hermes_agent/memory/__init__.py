"""What is remembered about the user and the work, between sessions."""
