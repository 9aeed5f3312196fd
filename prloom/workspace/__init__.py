"""Git and git worktrees, used so that nothing that a branch brings is run."""
