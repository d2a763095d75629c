"""State: one append-only journal and its projections, on SQLite or PostgreSQL."""
