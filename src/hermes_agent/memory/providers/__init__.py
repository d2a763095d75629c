"""One file per external memory: `connect(options) -> ExternalMemory`. The file's name is what users write."""
