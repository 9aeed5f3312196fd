"""Answer what the daemons of plugins request of prloom: who asks, what each may do, and what comes of it."""
