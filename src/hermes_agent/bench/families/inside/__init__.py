"""Programs of the worlds' tools. Each runs on its own in the sandbox, with nothing but the standard library."""
