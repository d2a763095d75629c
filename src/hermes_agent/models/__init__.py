"""The model layer: swappable and stateless. It turns a request into an answer and remembers nothing."""
