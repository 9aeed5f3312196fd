"""Serve the programs of this machine at the dispatcher's socket: identify each one, and check what it may request."""
