"""Other agent libraries on the same scripted endpoint: `make bench-peer`."""
