"""A Chromium of its own for each session, reached through a gate that refuses private addresses."""
