"""The data worker: a process of its own that reads tables of the workspace, asks them, draws and converts them."""
