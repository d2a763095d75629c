"""Where commands run, and how they are told apart, watched and ended."""
