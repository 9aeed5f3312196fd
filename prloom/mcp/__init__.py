"""Serve prloom over MCP on standard input and output: to the agent of a run, and to a person's own agent."""
