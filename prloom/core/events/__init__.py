"""Events: what is taken in, who sees it, and what becomes of it."""
