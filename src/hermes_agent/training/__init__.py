"""What leaves for training: trajectories."""
