"""The agent programs, a module for each of `AGENT_NAMES` (prloom.model.agent_names): its calls, and what it prints."""
