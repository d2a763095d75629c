"""Python in the sandbox that may call tools: what runs inside, and the bridge it calls over."""
