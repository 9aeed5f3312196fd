"""`prloom top`: the dashboard on a full screen, live, with a key for each action."""
