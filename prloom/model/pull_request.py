"""What prloom knows of the pull request that it keeps for a plan."""

from prloom.model.record import Record, Timestamp


class KeptPullRequest(Record, frozen=True, kw_only=True, omit_defaults=True):
    """How far the pull request shows what the plan's state is.

    `opened` says that prloom opened it, so that its description is prloom's to keep; for another's, prloom keeps one
    comment, `comment_id`. `shown` is a digest of the cockpit that is there since `shown_at`. `ready` says that prloom
    took it out of draft, `ended` that nothing more is shown because it was closed or merged. After an error nothing is
    tried before `retry_at`; the first error of a row was at `failing_since`.
    """

    opened: bool = False
    comment_id: str | None = None
    shown: str | None = None
    shown_at: Timestamp | None = None
    ready: bool = False
    ended: bool = False
    error: str | None = None
    retry_at: Timestamp | None = None
    failing_since: Timestamp | None = None


class OpenedPullRequest(Record, frozen=True, kw_only=True):
    """A pull request that was opened, or found, for the branch of a plan: what `state.json` notes of it.

    `base` is the branch that it is to be merged into; None in the log of an older prloom.
    """

    number: int
    forge: str
    url: str
    base: str | None = None
