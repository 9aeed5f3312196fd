"""Keep the daemons of background plugins running, and bring them what they subscribed to."""
