"""JSON-RPC 2.0 between the dispatcher and a plugin's process."""
