"""Tools that the agent writes itself: checked, tried, versioned, and run in the sandbox."""
