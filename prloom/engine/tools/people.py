"""Let trusted people answer agents by comments: `/prloom allow` and `deny`, and the answers to their questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from prloom.core.commands import permission, questions
from prloom.core.commands.requests import OPERATOR
from prloom.core.delivery import outbox, reply_limit
from prloom.core.text import markdown
from prloom.engine.bus.event_store import EventStore
from prloom.engine.plan.runtime import PlanRuntime, local_target, reply_target
from prloom.engine.tools import confirmations
from prloom.engine.tools.call_sequence import CallScene, ToolFailed
from prloom.engine.tools.confirmations import Confirmations, PostedQuestion
from prloom.engine.tools.run_questions import RunQuestion, RunQuestions
from prloom.errors import PrloomError
from prloom.model.action import Action, Comment
from prloom.model.event import Event
from prloom.model.permission import PermissionAnswer
from prloom.model.record import Json
from prloom.model.state import OpenEvent
from prloom.model.tool import ToolCall, ToolResult, ToolSpec

LONGEST: Final = 4000
"""Characters of a question, and of each of its options."""

MOST_OPTIONS: Final = 20

QUESTION_TOOL: Final = ToolSpec(
    name="prloom_ask",
    kind="own",
    description="Ask the people who work on this pull request a question, and wait for the first answer.",
    schema={
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": LONGEST},
            "options": {
                "type": "array",
                "maxItems": MOST_OPTIONS,
                "items": {"type": "string", "minLength": 1, "maxLength": LONGEST},
            },
        },
        "required": ["question"],
        "additionalProperties": False,
    },
)


@dataclass
class People:
    """Implements `dependencies.AgentRequests`, and answers `prloom_ask`."""

    confirmations: Confirmations
    questions: RunQuestions
    _posted: Counter[str] = field(default_factory=Counter)

    async def question(self, scene: CallScene, call: ToolCall) -> Json | ToolResult:
        """Post a question in the plan's conversation, and return what the first trusted person answers.

        A run whose dispatcher ended meanwhile asks again: its question has the same ids, and is not posted twice; what
        was answered in between is the result.
        """
        options = call.arguments.get("options", ())
        key = permission.question_key(call.run_id, call.arguments["question"], options)
        found = self.questions.left(key)
        if found is None:
            found = self._post(scene.runtime, call, key, options)
        self._posted[key] = found.number + 1
        self.questions.give(found)
        if found.answer is not None:
            return _result(found.answer)
        post = _post_id(scene.runtime.id, key, found.number)
        posted = PostedQuestion(found.request, call.arguments["question"], post)
        try:
            given = await self.confirmations.wait(scene, QUESTION_TOOL, call, posted)
        finally:
            self.questions.over(found.request)
        braked = _withdraw(scene.runtime.event_store, post)
        if braked is not None and given.choice == "timeout":
            raise ToolFailed(f"the question was not posted in time: {braked}", "timeout_error")
        return _result(given)

    def _post(self, runtime: PlanRuntime, call: ToolCall, key: str, options: Sequence[str]) -> RunQuestion:
        """Post a question, and return it."""
        number = self._posted[key]
        request = permission.question_id(key, number)
        target = reply_target(runtime.plan)
        in_file = target == local_target(runtime.plan)
        text = permission.question_text(request, call.arguments["question"], options, in_file=in_file)
        posted = Action(id=_post_id(runtime.id, key, number), target=target, payload=Comment(text))
        after = runtime.event_store.events.end()
        if not runtime.event_store.issued(posted.id):
            runtime.event_store.commit("tool", "prloom", actions=(posted,))
        return RunQuestion(
            request=request,
            plan=runtime.id,
            run=call.run_id,
            key=key,
            number=number,
            question=questions.question(call.arguments["question"], (), (posted,), after),
        )

    def has_question(self, runtime: PlanRuntime) -> bool:
        """Whether an agent of the plan waits for the answer to a question, or will ask for it again."""
        return self.questions.has(runtime.id)

    def answered(self, runtime: PlanRuntime, opened: OpenEvent, event: Event) -> str | None:
        """Return which request an event answers, and settle it; None for an event that answers none."""
        taken = self.questions.answered_by(runtime.id, event.id)
        if taken is not None:
            return taken
        waiting = self.questions.open(runtime.id)
        found = questions.find(waiting, permission.readable(opened, event, OPERATOR), event)
        if found is None:
            return None
        by = OPERATOR
        if event.author is not None:
            by = event.author.login
        given = PermissionAnswer(choice="allow", by=by, text=permission.answer_text(event))
        self.questions.answer(found.todo_id, given, event.id)  # from now on, what is said next is no answer
        if any(each.id == found.todo_id for each in self.confirmations.of_plan(runtime.id)):
            self.confirmations.answer(found.todo_id, given)
        return found.todo_id

    def decide(self, runtime: PlanRuntime, event: Event, words: Sequence[str], *, allow: bool) -> str:
        """Carry out `/prloom allow` or `/prloom deny`, whose words follow, and return the reply."""
        opened = runtime.event_store.state.open.get(event.id)
        problem = permission.comment_problem(event, vouched=opened is None or opened.vouched)
        if problem is not None or event.author is None:
            return problem or permission.NEEDS_COMMENT
        names = [word for word in words if word != permission.ALWAYS]
        known = {each.id: each for each in self.confirmations.of_plan(runtime.id)}
        if len(names) != 1 or names[0] not in known:
            return permission.which_text(tuple(known.values()))
        choice = confirmations.choice(allow, permission.ALWAYS in words)
        try:
            self.confirmations.answer(names[0], PermissionAnswer(choice=choice, by=event.author.login))
        except PrloomError as error:
            return markdown.one_line(str(error))
        return permission.decided_text(known[names[0]], choice)


def _post_id(plan_id: str, key: str, number: int) -> str:
    """Return the id of the action that posts a question."""
    return outbox.action_id(f"{plan_id}/{key}", "prloom", number)


def _withdraw(store: EventStore, post: str) -> str | None:
    """Post a question no more if the brake on replies holds it back, for nobody waits; return what the brake says."""
    queued = store.state.queue.get(post)
    if queued is None or not reply_limit.is_on(queued):
        return None
    reason = "the agent does not wait for an answer to it any more"
    store.commit("tool", "prloom", deliveries=(outbox.dropped(queued, reason),))
    return queued.error


def _result(given: PermissionAnswer) -> Json:
    """Return what the agent gets; raises ToolFailed where there is no answer."""
    if given.text is not None:
        return {"message": given.text, "data": {"answer": given.text, "by": given.by}}
    if given.choice == "timeout":
        raise ToolFailed("nobody answered the question in time", "timeout_error")
    raise ToolFailed(f"{given.by} does not answer the question", "denied")
