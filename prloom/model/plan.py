"""A pull request that prloom looks after, and what prloom remembers of it outside its worktree."""

from prloom.model.record import Record, Timestamp


class Plan(Record, frozen=True, kw_only=True):
    """What `state.json` holds. `base` is the branch that it began from, where prloom made the plan's branch.

    `pr_base` is the branch that its pull request is to be merged into, as the forge said last.
    `work` says whether prloom may commit to the branch; otherwise it lists TODOs only. `rule` names the rule that
    adopted it. `made_branch` says that prloom has made the local branch for one of the remote. `activates` says that
    the afterActivate hooks have not run for it yet. `blocked` says that nothing is done for it until `last_error` is
    fixed.
    """

    id: str
    branch: str
    base: str | None = None
    title: str = ""
    status: str = "active"  # a PlanState, or one of another version of prloom, which must be able to share the file
    pr: int | None = None
    pr_base: str | None = None
    forge: str | None = None
    url: str | None = None
    preset: str | None = None
    work: bool = True
    rule: str | None = None
    made_branch: bool = False
    activates: bool = False
    created_at: Timestamp | None = None
    last_error: str | None = None
    last_error_at: Timestamp | None = None
    blocked: bool = False

    @property
    def merges_into(self) -> str | None:
        """The branch that the plan is to be merged into; None for the one that the configuration names."""
        return self.pr_base or self.base


class Activation(Record, frozen=True, kw_only=True):
    """A draft that is about to become a plan: the branch that is made for it, from which commit, and of which text.

    `text` is the draft's as it was read: what is changed there until the plan is made is brought over. It is noted
    before the branch is made, so that an activation which was cut short is known for what it is.
    """

    branch: str
    base: str
    sha: str
    text: str | None = None
    created_at: Timestamp


class DraftBlock(Record, frozen=True, kw_only=True):
    """Why a draft was kept from being queued: a plugin's hook said so of the text with this digest."""

    reason: str
    digest: str


class Counts(Record, frozen=True, kw_only=True):
    """What waited in a plan."""

    pending: int = 0
    deferred: int = 0
    held: int = 0
    parked: int = 0
    actions_queued: int = 0
    actions_failed: int = 0
    todos_open: int = 0

    @property
    def nothing(self) -> bool:
        """Whether nothing waited."""
        return self == Counts()

    def words(self) -> str:
        """Return the counts that are not zero as a text, such as "2 pending events, 1 open TODO"."""
        named = (
            (self.pending, "pending event"),
            (self.deferred, "deferred event"),
            (self.held, "held event"),
            (self.parked, "parked event"),
            (self.actions_queued, "queued action"),
            (self.actions_failed, "failed action"),
            (self.todos_open, "open TODO"),
        )
        return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in named if count)


class Adopted(Record, frozen=True, kw_only=True):
    """An adopted plan: its `state.json` as it was, the path of its worktree, and the counts that were known last."""

    plan: Plan
    worktree: str
    counts: Counts | None = None
    counted_at: Timestamp | None = None
