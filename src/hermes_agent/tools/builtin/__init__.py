"""General tools, one file per family. Adding a file adds its tools: nothing else needs to be touched."""
