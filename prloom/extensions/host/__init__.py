"""Hosts of plugins: in a process of their own, or in the dispatcher's."""
