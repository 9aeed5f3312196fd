"""The worker host: claims messages, runs a command for each, and settles the claims by how the commands end."""
