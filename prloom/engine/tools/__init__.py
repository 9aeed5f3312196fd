"""Tools for agents: what is offered to a run, and what becomes of each call."""
