"""The agent programs, a module for each: how it is called, and how what it prints is read."""
