"""Values and protocols that every layer may use. No I/O, and nothing of ours is imported here."""
