"""A worker machine: it does the runs of a dispatcher elsewhere in a checkout of its own, and replies with bundles."""
