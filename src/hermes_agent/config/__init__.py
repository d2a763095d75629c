"""Configuration: typed, read once from one file and the environment."""
