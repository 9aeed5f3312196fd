"""Poll the bridges for events."""
