"""Write and read prloom's own files, so that a kill, a full disk or a hostile worktree can take nothing away."""
