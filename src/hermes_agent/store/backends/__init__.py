"""One module per database engine; nothing outside this folder knows a dialect."""
