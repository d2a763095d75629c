"""Where people and programs meet the agent."""
