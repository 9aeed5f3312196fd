"""A file-backed dispatcher for pull requests."""

__version__ = "0.1.0"
