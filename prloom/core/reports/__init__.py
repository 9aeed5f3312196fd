"""What happened, as lines and figures: decisions, runs, costs, statistics."""
