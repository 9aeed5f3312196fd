"""The `prloom` command: each subcommand is a module of its own and is imported only when it is run."""
