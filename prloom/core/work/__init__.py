"""The work on TODOs: the next step, and what each step comes to."""
