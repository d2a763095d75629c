"""Worlds in which the effect of learning is measured. They share no constants with `hermes_agent.learning`."""
