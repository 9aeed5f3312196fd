"""What people, bots and machines do at GitHub while a client looks on: a verb each, to be read like a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from . import checks, comments, issues, labels, merges, pulls, reactions, review_comments, reviews, statuses
from .things import (
    Account,
    CheckRun,
    FileDiff,
    Issue,
    IssueComment,
    Milestone,
    Post,
    Pull,
    Repository,
    Review,
    ReviewComment,
    Side,
    Status,
)
from .world import World

Inline = tuple[str, int, str]
"""Path, line and text of a comment."""

FILES = (FileDiff(path="src/engine.py", new=(1, 40), old=(1, 3)),)


class Happenings:
    """What happens at `now`, as the clock has it; each verb returns what came of it."""

    def __init__(self, world: World, clock: Callable[[], datetime]) -> None:
        self.world = world
        self.clock = clock

    @property
    def now(self) -> datetime:
        self.world.changed()
        return self.clock()

    def who(self, login: str) -> Account:
        return self.world.account(login)

    def pull(
        self,
        title: str = "Make the engine run",
        *,
        by: str = "ann",
        branch: str = "",
        base: str = "main",
        body: str = "",
        draft: bool = False,
        fork: bool | str = False,
        files: Iterable[FileDiff] = FILES,
        sha: str | None = None,
    ) -> Pull:
        """Open a pull request; by default each is of a branch of its own. `fork`: from the author's fork, or whose."""
        author, repo, now = self.who(by), self.world.repository, self.now
        ref = branch or f"branch-{self.world.last_number + 1}"
        owner = self.who(fork) if isinstance(fork, str) else author
        home = self.fork_of(owner, now) if fork else repo
        head = Side(ref=ref, sha=sha or self.world.next_sha(), user=home.owner, repository=home)
        home.branches[ref] = head.sha
        return pulls.open_pull(
            self.world, author, title=title, body=body, head=head, base=base, draft=draft, files=files, now=now
        )

    def fork_of(self, owner: Account, now: datetime) -> Repository:
        forks = [pull.head.repository for pull in self.world.pulls() if pull.head.repository]
        found = next((fork for fork in forks if fork.fork and fork.owner is owner), None)
        name, number = self.world.repository.name, self.world.next_id()
        return found or Repository(
            id=number, owner=owner, name=name, fork=True, created_at=now, updated_at=now, pushed_at=now
        )

    def issue(self, title: str = "It does not run", *, by: str = "ann", body: str = "") -> Issue:
        """Open an issue that is no pull request; its comments stand in the same lists."""
        return issues.open_issue(self.world, self.who(by), title, body, self.now)

    def comment(self, issue: Issue, by: str, body: str, *, late: timedelta = timedelta(0)) -> IssueComment:
        """Comment; one that is `late` is seen only now although it says that it is of that long ago."""
        return comments.add(self.world, issue, self.who(by), body, self.now - late)

    def inline(
        self, pull: Pull, by: str, body: str, *, path: str = "src/engine.py", line: int | None = 3
    ) -> ReviewComment:
        """Comment on a line (None: on the file); GitHub adds a review for it, or puts it into the author's draft."""
        author, now = self.who(by), self.now
        wanted = {"path": path, **({"line": line} if line else {"subject_type": "file"})}
        where = review_comments.comment_line(pull, wanted)
        review = review_comments.review_for(self.world, pull, author, now)
        return review_comments.start_thread(self.world, review, where, body, now)

    def reply_in_thread(self, root: ReviewComment, by: str, body: str) -> ReviewComment:
        """Answer in a thread; that makes an empty review besides."""
        now = self.now
        first = self.world.review_comments[root.reply_to] if root.reply_to else root
        review = review_comments.review_for(self.world, first.pull, self.who(by), now)
        return review_comments.continue_thread(self.world, review, first, body, now)

    def review(self, pull: Pull, by: str, state: str, body: str = "", *, comments: Sequence[Inline] = ()) -> Review:
        """Review, as APPROVED, CHANGES_REQUESTED or COMMENTED; as PENDING it is a draft that nobody else sees."""
        now = self.now
        review = reviews.start(self.world, pull, self.who(by), body, now)
        for path, line, text in comments:
            where = review_comments.comment_line(pull, {"path": path, "line": line})
            review_comments.start_thread(self.world, review, where, text, now)
        if state != "PENDING":
            reviews.submit(self.world, review, state, now)
        return review

    def submit(self, draft: Review, state: str = "COMMENTED") -> Review:
        reviews.submit(self.world, draft, state, self.now)
        return draft

    def dismiss(self, review: Review) -> None:
        reviews.dismiss(review, self.now)

    def edit(self, post: Post, body: str, *, by: str | None = None) -> None:
        """Change the text of a comment, a review (no time tells of that) or a pull request: `by` its author."""
        now = self.now
        if isinstance(post, Review):
            post.body = body
        else:
            comments.edit(post, body, now, by=self.who(by) if by else None)

    def touch(self, post: Post) -> None:
        """Move `updated_at` although nobody edited anything, as GitHub now and then does a second after a posting."""
        post.updated_at = self.now

    def delete(self, post: Post) -> None:
        """Delete a comment, a draft, or a whole issue or pull request: it is in no list any more, and asking is 404."""
        now = self.now
        match post:
            case IssueComment():
                comments.remove(self.world, post, now)
            case ReviewComment():
                review_comments.remove(self.world, post, now)
            case Review():
                del self.world.reviews[post.id]
            case Issue():
                del self.world.issues[post.number]

    def react(self, post: Post, by: str, content: str = "+1") -> None:
        """React; no time tells of it."""
        reactions.add(self.world, post, self.who(by), content, self.now)

    def resolve(self, comment: ReviewComment, by: str) -> None:
        self.world.changed()
        comment.thread.resolved_by = self.who(by)

    def push(self, pull: Pull, *, files: Iterable[FileDiff] | None = None) -> str:
        """Push a commit; comments on lines that `files` has no longer lose their line. Return the new head."""
        now = self.now
        pull.head.sha = self.world.next_sha()
        pull.commits.append(pull.head.sha)
        if pull.head.repository:
            pull.head.repository.branches[pull.head.ref] = pull.head.sha
            pull.head.repository.pushed_at = now
        if files is not None:
            pull.files = {file.path: file for file in files}
        review_comments.outdate(self.world, pull)
        merges.recompute(self.world, pull, now)
        pull.updated_at = now
        return pull.head.sha

    def conflict(self, pull: Pull, *, there: bool = True) -> None:
        """Let the base run into the pull request, or have that solved; `updated_at` does not move."""
        pull.conflict = there
        merges.recompute(self.world, pull, self.now)

    def check(
        self, pull: Pull, name: str, conclusion: str | None, *, log: str | None = None, app: str = "github-actions"
    ) -> CheckRun:
        """Let a check speak of the pull request's head; with conclusion None it has begun and not ended."""
        found = checks.record(
            self.world,
            sha=pull.head.sha,
            branch=pull.head.ref,
            name=name,
            conclusion=conclusion,
            app=app,
            now=self.now,
        )
        found.log = log
        found.title = found.summary = None if app == "github-actions" else log
        return found

    def finish(self, check: CheckRun, conclusion: str, *, log: str | None = None) -> None:
        check.status, check.conclusion, check.completed_at = "completed", conclusion, self.now
        check.log = log or check.log

    def status(self, pull: Pull, context: str, state: str, description: str | None = None) -> Status:
        return statuses.record(
            self.world,
            sha=pull.head.sha,
            context=context,
            state=state,
            creator=self.who("jenkins"),
            now=self.now,
            description=description,
        )

    def merge(self, pull: Pull, by: str = "ann") -> None:
        merges.merge_now(self.world, pull, self.who(by), self.now)

    def close(self, issue: Issue, by: str = "ann") -> None:
        issues.set_state(issue, "closed", self.who(by), self.now)

    def reopen(self, issue: Issue) -> None:
        issues.set_state(issue, "open", self.who("ann"), self.now)

    def lock(self, issue: Issue) -> None:
        self.world.changed()
        issue.locked, issue.lock_reason = True, "too heated"

    def label(self, issue: Issue, *names: str) -> None:
        issue.labels += [labels.named(self.world, name) for name in names]
        issue.updated_at = self.now

    def milestone(self, title: str, by: str = "ann") -> Milestone:
        return labels.open_milestone(self.world, title, self.who(by), self.now)

    def branch(self, name: str, sha: str | None = None) -> str:
        """Push a branch without a pull request."""
        self.world.repository.branches[name] = sha or self.world.next_sha()
        self.world.repository.pushed_at = self.now
        return self.world.repository.branches[name]

    def delete_fork(self, pull: Pull) -> None:
        """Delete the repository that the pull request is from."""
        self.world.changed()
        pull.head.repository = None

    def rename(self, name: str) -> None:
        """Rename the repository; the old name redirects."""
        self.world.changed()
        self.world.old_names.add(self.world.repository.full_name.lower())
        self.world.repository.name = name
