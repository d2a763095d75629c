"""The harness: owns execution. It knows learning, skills and memory only as protocols."""
