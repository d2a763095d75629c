"""Benchmarks of skills: does the library stay small and useful, and what does it cost."""
