"""Put a dispatcher and its parts together from the operator's configuration."""
