"""Background plugins and tools: the life of a daemon, what it may request, and what a call may do."""
