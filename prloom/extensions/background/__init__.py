"""Run the daemon of a background plugin: its process, its socket, and the messages that are exchanged over it."""
