"""What the world's tools run in the sandbox. Each file is a whole program with the standard library alone."""
