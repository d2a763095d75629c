"""Other families of tasks than finance: six worlds, each with exact answers, and one that cannot be learned."""
