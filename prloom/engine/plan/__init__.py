"""Work on one plan: its runtime, and the steps that its events take."""
