"""What can be watched: every event goes to every sink, and no sink can hold a run up."""
