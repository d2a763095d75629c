"""Search engines, one file each. A new file with `ADDRESS`, `NEEDS` and `search` is a new back end."""
