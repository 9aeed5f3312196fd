"""The pull request of a plan: when it is opened and adopted, and what its cockpit shows."""
