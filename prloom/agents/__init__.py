"""Run the coding-agent programs: what they are asked, how they are watched, and what their output means."""
