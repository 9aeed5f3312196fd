"""The socket at which programs of this machine ask the running dispatcher: who they are, and what they may ask."""
