"""The case study with financial exports: a generator of tasks, the tools of its world, and a verifier."""
