"""The way to the network: one client for each bridge, with its token, its limits and its patience."""
