"""A program that tries to get out of a sandbox."""
