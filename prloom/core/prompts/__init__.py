"""What agents are asked."""
