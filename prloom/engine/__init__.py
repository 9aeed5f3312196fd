"""Read, ask the core, act, save."""
