"""What agents answer, read part by part."""
