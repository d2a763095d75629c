"""The installed command, driven as users drive it: as a process of its own."""
