"""One file per provider, found by its name. A provider module has `connect(options) -> ModelClient`."""
