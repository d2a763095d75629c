"""The web as text: a client that visits only what it may, and pages made readable."""
