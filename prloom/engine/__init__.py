"""Read, let the core decide, act, save."""
