"""The page: what the agent does, learns and costs, in a browser on this machine."""
