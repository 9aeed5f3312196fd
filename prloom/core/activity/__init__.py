"""What agents do while they run, fit to be kept."""
