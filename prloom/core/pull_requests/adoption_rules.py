"""Decide by the rules of `[[adopt]]` which open pull requests prloom begins to look after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from prloom.core import trust

ME = "@me"
"""Stands for the account that prloom acts as."""
ANYBODY = "*"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What a rule reads of a pull request."""

    number: int
    author: str | None
    base: str
    labels: tuple[str, ...] = ()
    draft: bool = False
    fork: bool = False


@dataclass(frozen=True, kw_only=True)
class AdoptionRule:
    """One rule; of each list, one entry has to fit, and an empty list of labels or bases fits everything.

    `work` None: prloom works on the operator's own pull requests only. At most `limit` plans are of this rule at once.
    """

    authors: tuple[str, ...] = (ME,)
    labels: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    drafts: bool = True
    forks: bool = False
    work: bool | None = None
    preset: str | None = None
    limit: int = 20

    def name(self) -> str:
        """Return the rule as people recognise it; plans note it, also when the order of the rules changes."""
        parts = [f"authors={','.join(self.authors)}"]
        if self.labels:
            parts.append(f"labels={','.join(self.labels)}")
        if self.base:
            parts.append(f"base={','.join(self.base)}")
        if not self.drafts:
            parts.append("drafts=no")
        if self.forks:
            parts.append("forks=yes")
        return " ".join(parts)

    def fits(self, pull: Candidate, me: str | None) -> bool:
        """Whether the rule is for this pull request; `me` is the own login, None where it is not known."""
        if (pull.draft and not self.drafts) or (pull.fork and not self.forks):
            return False
        labels = {label.casefold() for label in pull.labels}
        if self.labels and not any(label.casefold() in labels for label in self.labels):
            return False
        if self.base and not any(fnmatchcase(pull.base, pattern) for pattern in self.base):
            return False
        return ANYBODY in self.authors or self.names(pull.author, me)

    def names(self, author: str | None, me: str | None) -> bool:
        """Whether the rule names the author; `*` names nobody."""
        return author is not None and trust.named(author, self._logins(me))

    def works_on(self, pull: Candidate, me: str | None) -> bool:
        """Whether prloom may commit to the pull request: never to a fork, to which it does not push."""
        if pull.fork:
            return False
        if self.work is None:
            return is_own(pull, me)
        return self.work

    def _logins(self, me: str | None) -> Iterable[str]:
        for author in self.authors:
            if author == ME and me is not None:
                yield me
            elif author not in {ME, ANYBODY}:
                yield author.removeprefix("@")


@dataclass(frozen=True)
class Proposal:
    """A pull request that a rule adopts.

    `vouched` says that the operator named its author, and so approves title and body; `work` that prloom may commit.
    """

    number: int
    rule: AdoptionRule
    work: bool
    vouched: bool


@dataclass(frozen=True)
class Adoption:
    """What the rules come to: the pull requests to adopt, and those that a rule's limit keeps out, with the rule."""

    proposals: tuple[Proposal, ...] = ()
    over_limit: tuple[tuple[int, AdoptionRule], ...] = ()


def choose(
    pulls: Iterable[Candidate],
    rules: Sequence[AdoptionRule],
    *,
    me: str | None,
    left_out: Collection[int] = (),
    present: Iterable[str] = (),
) -> Adoption:
    """Return which pull requests are to be adopted, the oldest first; the first rule that fits decides.

    `left_out` are those that are adopted already, or were given up by the operator. `present` are the names of the
    rules of the plans that there are, which count against the limits.
    """
    counts = Counter(present)
    proposals, over_limit = [], []
    for pull in sorted(pulls, key=lambda pull: pull.number):
        rule = first_fit(pull, rules, me)
        if rule is None or pull.number in left_out:
            continue
        if counts[rule.name()] >= rule.limit:
            over_limit.append((pull.number, rule))
            continue
        counts[rule.name()] += 1
        proposals.append(Proposal(pull.number, rule, work=rule.works_on(pull, me), vouched=rule.names(pull.author, me)))
    return Adoption(tuple(proposals), tuple(over_limit))


def first_fit(pull: Candidate, rules: Iterable[AdoptionRule], me: str | None) -> AdoptionRule | None:
    """Return the first rule that fits a pull request, or None."""
    return next((rule for rule in rules if rule.fits(pull, me)), None)


def is_own(pull: Candidate, me: str | None) -> bool:
    """Whether the operator's own account opened the pull request."""
    return me is not None and pull.author is not None and trust.named(pull.author, (me,))


def needs_own_login(rules: Iterable[AdoptionRule]) -> bool:
    """Whether a rule asks for the login of the account that prloom acts as."""
    return any(ME in rule.authors or rule.work is None for rule in rules)
