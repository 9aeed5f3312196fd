"""Begin to look after a branch or a pull request."""
