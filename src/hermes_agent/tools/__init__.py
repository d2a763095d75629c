"""What the agent can do: tools, where they come from, and where their commands run."""
