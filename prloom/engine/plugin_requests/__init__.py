"""Answer what the daemons of plugins request of prloom: identify each one, check what it may do, and do it."""
