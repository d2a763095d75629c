"""What the harness learns from its own executions, and the evidence for it."""
