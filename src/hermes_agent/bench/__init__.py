"""Case studies that anybody can run: worlds of generated tasks with exact answers, and what agents make of them."""
