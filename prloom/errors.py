"""The errors that prloom tells people about: one root, a class of its own only where a caller reacts differently."""


class PrloomError(Exception):
    """Something a person can act on; the text says what, where and what now.

    The command line turns it into one line on stderr and exit code 1.
    """


class ConfigError(PrloomError):
    """The configuration cannot be used as it is."""


class StorageError(PrloomError):
    """A file of prloom's own could not be read or written; what was there before is still there."""


class UnsafePathError(StorageError):
    """A path under a worktree leads through a symbolic link or out of its folder."""


class AlreadyRunningError(PrloomError):
    """Another dispatcher holds this repository."""


class WorkspaceError(PrloomError):
    """Git refused, or the worktree is not in a state to go on."""


class AgentError(PrloomError):
    """An agent program could not be started, or its run cannot be read."""


class ExtensionError(PrloomError):
    """A plugin or a bridge is at fault; the text names it and the call."""
