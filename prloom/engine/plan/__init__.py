"""One plan at work: its desk, and the steps that its events take."""
