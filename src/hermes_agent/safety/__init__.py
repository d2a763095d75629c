"""Boundaries: what may be reached, who must be asked, what must not be written down."""
