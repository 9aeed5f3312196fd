"""The values that prloom stores, exchanges and decides about."""
