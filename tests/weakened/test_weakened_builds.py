"""For each guarantee: a build that is weakened in one place fails the test that stands for it.

A test that cannot fail proves nothing. Each row names a guarantee, the lines that keep it, what a careless change would
make of them, and the test that must notice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from build import Build

RunPytest = Callable[..., Any]
OPTIONS = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:anyio")


class Weakening(NamedTuple):
    """One careless change: `strong` in `file` becomes `weak`, and `test` (a file of tests/, and -k) fails.

    `shorter` is a wait that only the weakened build comes to: a file, its line, and the line of a shorter one.
    """

    guarantee: str
    file: str
    strong: str
    weak: str
    test: str
    select: str
    shorter: tuple[str, str, str] | None = None


WEAKENINGS = (
    Weakening(
        "P1: events are on disk before the bridge's cursor is",
        "prloom/engine/polling/poll.py",
        """        counts = dict(zip(routed, await asyncio.gather(*jobs), strict=True))
""",
        """        self._cursor.save({"state": polled.state})
        counts = dict(zip(routed, await asyncio.gather(*jobs), strict=True))
""",
        "engine/test_crashes.py",
        "before_every_change and 0",
    ),
    Weakening(
        "P1: a ledger that failed writes nothing past what it does not know",
        "prloom/engine/bus/event_store.py",
        "        self._closed = self._closed or reason\n",
        "        log.warning(reason)\n",
        "engine/bus/test_ledger.py",
        "after_an_error",
    ),
    Weakening(
        "P1: an id is known however long ago it came in",
        "prloom/engine/bus/seen_ids.py",
        "        for place in self._candidates(event_id):\n",
        "        for place in ():\n",
        "engine/plan/test_intake.py",
        "beyond_memory",
    ),
    Weakening(
        "damage: a replaced bus whose reading was cut short asks nobody twice",
        "prloom/engine/plan/runtime.py",
        "        self.know(self.ledger.state.cursor, self.ledger.state.rereading)\n",
        "        self.know(self.ledger.state.cursor, None)\n",
        "hostile/test_replaced.py",
        "cut_short",
    ),
    Weakening(
        "damage: what was read again of a replaced bus stays known",
        "prloom/engine/bus/seen_ids.py",
        "        if event_id in self._told:\n",
        "        if event_id not in self._told:\n",
        "hostile/test_replaced.py",
        "stays_known",
    ),
    Weakening(
        "P1: a table of ids is not believed of a file that took another one's place",
        "prloom/engine/bus/tables.py",
        "            if len(segments) == 1 and (before > now or not self._stands(table)):\n",
        "            if len(segments) == 1 and before > now:\n",
        "engine/bus/test_tables.py",
        "another_one_has_taken",
    ),
    Weakening(
        "P1: an id is known whichever closed segments share a table",
        "prloom/engine/bus/tables.py",
        "            pieces.append((pairs, sum(covered)))\n",
        "            pieces.append((pairs, 0))\n",
        "engine/bus/test_tables.py",
        "share_tables",
    ),
    Weakening(
        "files: an event's line tells all but what is None",
        "prloom/model/event.py",
        "    severity: Severity = field(default_factory=_info)\n",
        '    severity: Severity = "info"\n',
        "engine/bus/test_entries.py",
        "all_but_what_is_none",
    ),
    Weakening(
        "P1: half an emoji does not keep a page of events from the bus",
        "prloom/storage/json_codec.py",
        '        return b"".join(encode(value) + b"\\n" for value in values)\n',
        "        raise\n",
        "engine/bus/test_entries.py",
        "half_an_emoji",
    ),
    Weakening(
        "P1: a damaged table of ids is not believed",
        "prloom/storage/tablefile.py",
        "        if crc32(self._pairs[block * BLOCK : (block + 1) * BLOCK]) != self._checks[block]:\n",
        "        if block < 0:\n",
        "engine/bus/test_tables.py",
        "damaged",
    ),
    Weakening(
        "P1: an event that the answer leaves out is asked about again",
        "prloom/core/triage.py",
        "            changes.append(failed(opened[event.id], why, now=now, policy=policy, alone=len(batch) > 1))\n",
        '            changes.append(Change(event_id=event.id, verdict="answered", state="triaged", reason=why))\n',
        "engine/plan/test_agents.py",
        "leaves_out",
    ),
    Weakening(
        "P1: a run that nobody has in hand is found again",
        "prloom/engine/plan/reconcile.py",
        "        if desk.busy.isdisjoint(ids):\n",
        "        if not ids:\n",
        "engine/test_dispatcher.py",
        "earlier_dispatcher_began",
    ),
    Weakening(
        "P1: a request that a plan cannot carry out now waits for it",
        "prloom/engine/operator/control.py",
        "    box.settle(each._replace(plans=plans) for each, plans in owed if plans)\n",
        "    box.settle()\n",
        "engine/operator/test_control.py",
        "waits_for_it",
    ),
    Weakening(
        "P2: the decision is appended before anything else is written",
        "prloom/engine/bus/event_store.py",
        """            position = self._decisions.append([line])
            self._take_effect(decision, now, _behind(position, line, self.state.log))
""",
        """            before = self.state
            self._take_effect(decision, now, before.log)
            position = self._decisions.append([line])
            self.state = replace(self.state, log=_behind(position, line, before.log))
""",
        "engine/test_crashes.py",
        "before_every_change and 0",
    ),
    Weakening(
        "P2: a hook that was overtaken by another writer runs again",
        "prloom/engine/plan/hooks.py",
        "                if not _overtaken(desk, plugin, call, outcome):\n",
        "                if call.plan_id:\n",
        "engine/plan/test_hooks.py",
        "overtaken",
    ),
    Weakening(
        "P3: where an attempt's outcome is not known, the bridge is told to look first",
        "prloom/engine/plan/delivery.py",
        "    return begun is not None or receipts.in_doubt(state, queued)\n",
        "    return receipts.in_doubt(state, queued)\n",
        "engine/test_promises.py",
        "whose_answer_was_lost",
    ),
    Weakening(
        "P3: the receipt is written before the decision",
        "prloom/engine/plan/delivery.py",
        "            state = outbox.receipted(state, receipt)\n",
        "",
        "engine/plan/test_delivery.py",
        "has_a_receipt",
    ),
    Weakening(
        "P3: where a comment may be on GitHub already, it is looked for by its mark",
        "bridges/github/posting.py",
        """            return None
        issue, pull = """,
        """            return None
        if self._action:
            return None
        issue, pull = """,
        "acceptance/test_github_crashes.py",
        "before_and_after_every_request",
    ),
    Weakening(
        "P3: where a review may be on GitHub already, it is looked for by its mark",
        "bridges/github/posting.py",
        """            return None
        reviews = """,
        """            return None
        if self._action:
            return None
        reviews = """,
        "acceptance/test_github_crashes.py",
        "before_and_after_every_request",
    ),
    Weakening(
        "P4: of events that a hook failed on in company, only the guilty one waits",
        "prloom/engine/plan/hooks.py",
        '        if len(step.event_ids) > 1 or (failure.kind == "died" and not suspected):\n',
        '        if failure.kind == "died" and not suspected:\n',
        "engine/test_promises.py",
        "does_not_delay_its_neighbours",
    ),
    Weakening(
        "P4: one event that a plugin always fails on does not switch it off for others",
        "prloom/core/breaker.py",
        "    return _is_off(breaker, now) and breaker.only in {None, event}\n",
        "    return _is_off(breaker, now)\n",
        "engine/plan/test_hooks.py",
        "never_switches_the_plugin_off",
    ),
    Weakening(
        "P5: the deadline counts from the first deferral, whoever put the event off",
        "prloom/core/deferral.py",
        "    first = min(record.moment(event.first_deferred_at), now) if event.first_deferred_at else now\n",
        "    first = now\n",
        "engine/test_promises.py",
        "take_turns",
    ),
    Weakening(
        "P5: a run that prloom's own end cut short counts as no attempt",
        "prloom/engine/plan/triage_results.py",
        '    if result.status == "interrupted":\n',
        "    if not live:\n",
        "engine/plan/test_agents.py",
        "own_end_cut_short",
    ),
    Weakening(
        "P5: a full tick does not go on with what comes due meanwhile",
        "prloom/engine/plan/reconcile.py",
        "    now = hands.horizon or desk.clock()\n",
        "    now = desk.clock()\n",
        "engine/test_dispatcher.py",
        "tries_an_action_once",
    ),
    Weakening(
        "P6: prloom's own posts are known by their mark where the receipt was lost",
        "prloom/core/admission.py",
        "    return delivered(event, ledger) or own_action(event, ledger) is not None\n",
        "    return delivered(event, ledger)\n",
        "engine/test_promises.py",
        "its_own_posts",
    ),
    Weakening(
        "P7: a stranger's text is held before any hook sees it",
        "prloom/engine/plan/admission.py",
        '            return Change(event_id=event.id, verdict="held", state="held", reason=reason, intake=came_in)\n'
        "        case Unknown",
        '            return Change(event_id=event.id, verdict="held", state="pending", reason=reason, intake=came_in)\n'
        "        case Unknown",
        "engine/test_promises.py",
        "p7_a_strangers_text",
    ),
    Weakening(
        "P7: a stranger's text is held also where nobody would be shown it",
        "prloom/engine/plan/admission.py",
        '        if changes[-1].state == "pending" and unseen(event):\n',
        "        if unseen(event):\n",
        "engine/plan/test_intake.py",
        "held_also",
    ),
    Weakening(
        "P1: an event is not over while a plugin is there to see it",
        "prloom/core/dispatch.py",
        "    if roster.observers or roster.triagers or (agents and not event.notice):\n",
        "    if agents and not event.notice:\n",
        "engine/plan/test_intake.py",
        "no_agent_is_asked_about",
    ),
    Weakening(
        "P10: a notice costs no agent",
        "prloom/core/dispatch.py",
        "            if turn is None and event.notice:\n",
        "            if turn is None and not event.type:\n",
        "engine/plan/test_notices.py",
        "costs_no_agent",
    ),
    Weakening(
        "P7: a stranger is not acknowledged before somebody vouches",
        "prloom/engine/plan/admission.py",
        '        if changes[-1].state == "pending" and acknowledgement is not None:\n',
        "        if acknowledgement is not None:\n",
        "engine/plan/test_acknowledging.py",
        "nothing_else",
    ),
    Weakening(
        "P7: an approval is for the text that was seen",
        "prloom/core/requests.py",
        "            fitting = [event for event in named if digests.get(event.id, event.digest) == event.digest]\n",
        "            fitting = named if digests is not None else []\n",
        "engine/operator/test_control.py",
        "void_for_another_text",
    ),
    Weakening(
        "P8: what a branch commits does not pass for prloom's own files",
        "prloom/engine/bus/worktree_guard.py",
        "    if committed is None:\n        return None\n",
        '    if committed != "":\n        return None\n',
        "engine/bus/test_guard.py",
        "is_seen_when_it_comes",
    ),
    Weakening(
        "P9: opening a repository takes its lock",
        "prloom/engine/plan_registry.py",
        "        self._lock.acquire()\n",
        "",
        "engine/test_board.py",
        "second_board",
    ),
    Weakening(
        "P10: what has not changed is not saved",
        "prloom/engine/bus/event_store.py",
        "        if self._closed is None and self.state != self._saved:\n",
        "        if self._closed is None:\n",
        "engine/test_promises.py",
        "p10 and writes",
    ),
    Weakening(
        "GitHub: a limit holds for the process that comes after the one that hit it",
        "prloom/transport/client.py",
        "        found = remembers.load() if remembers is not None else None\n",
        "        found = None\n",
        "acceptance/test_github.py",
        "asks_nothing_before_it_may",
    ),
    Weakening(
        "GitHub: the pause between two writes holds for a process that is started anew",
        "prloom/transport/client.py",
        "            self._remember()  # before it goes out: who is killed now cannot tell when it arrived\n",
        "            pass\n",
        "acceptance/test_github_crashes.py",
        "before_and_after_every_request",
    ),
    Weakening(
        "GitHub: nothing is asked inside a Retry-After",
        "prloom/transport/limits.py",
        "        times.append(limits.closed_until)\n",
        "        times.append(now)\n",
        "transport/test_sockets.py",
        "nothing_is_sent_before",
    ),
    Weakening(
        "GitHub: the token goes to no other host",
        "prloom/transport/client.py",
        "        if not self._is_home(url):\n            return await self._fetch(method, url, None, {})\n",
        "",
        "transport/test_client.py",
        "to_another_host or on_another_host",
    ),
    Weakening(
        "GitHub: what a list that is behind lacks is not taken for deleted",
        "bridges/github/deletions.py",
        "for key, post in asked if await self._gone(",
        "for key, post in asked if True or await self._gone(",
        "bridges/github/test_incoming.py",
        "list_that_is_behind",
    ),
    Weakening(
        "GitHub: a plan made anew between two polls hears what was said before",
        "bridges/github/sansio/cursor.py",
        "if tracked.get(number) == seen.plan}",
        "if number in tracked}",
        "bridges/github/test_incoming.py",
        "given_up_and_made_anew",
    ),
    Weakening(
        "an agent's words notify and command nobody but the one whom they answer",
        "prloom/core/triage.py",
        "    said = hush.hush(text.strip(), to=event.author.login if event.author else None, host=_host(event.url))\n",
        "    said = text.strip()\n",
        "core/test_hush.py",
        "of_the_agent",
    ),
    Weakening(
        "exchange: a claim's end and its reply are one transaction",
        "prloom/exchange/sqlite/claiming.py",
        '    db.execute(\n        "UPDATE claims SET status = ?, completed_at = ?, error = ?, reply_id = ?',
        '    db.execute("COMMIT")\n    db.execute("BEGIN IMMEDIATE")\n    db.execute(\n'
        '        "UPDATE claims SET status = ?, completed_at = ?, error = ?, reply_id = ?',
        "exchange/sqlite/test_store.py",
        "settled_whole",
    ),
    Weakening(
        "exchange: a worker whose lease is over settles nothing",
        "prloom/exchange/sqlite/claiming.py",
        'claim.status != "active" or claim.lease_until <= held.now',
        'claim.status != "active"',
        "exchange/test_conformance.py",
        "neither_renew_nor_settle and sqlite",
    ),
    Weakening(
        "exchange: a worker whose lease is over settles nothing, also what it remembers to have claimed",
        "prloom/exchange/sqlite/claiming.py",
        "(until := rows.moment(row[1])) <= (now := clock.at(row[0]))",
        "(until := rows.moment(row[1])) is (now := clock.at(row[0]))",
        "exchange/test_conformance.py",
        "neither_renew_nor_settle and sqlite",
    ),
    Weakening(
        "exchange: a worker whose message was cancelled settles nothing, also what it remembers to have claimed",
        "prloom/exchange/sqlite/claiming.py",
        "WHERE message = ? AND id = ? AND status = 'active'\"",
        'WHERE message = ? AND id = ?"',
        "exchange/test_conformance.py",
        "cancelled_message_can_neither and sqlite",
    ),
    Weakening(
        "exchange: a worker whose message was cancelled settles nothing",
        "prloom/exchange/sqlite/claiming.py",
        'claim.status != "active" or claim.lease_until <= held.now',
        "claim.lease_until <= held.now",
        "exchange/test_conformance.py",
        "cancelled_message_can_neither and sqlite",
    ),
    Weakening(
        "exchange: settling twice replies once",
        "prloom/exchange/rules.py",
        '            return claim.status == "completed"\n',
        "            return False\n",
        "exchange/test_conformance.py",
        "settled_twice and sqlite",
    ),
    Weakening(
        "exchange: what was made while the connection was lost is there once",
        "prloom/exchange/retry_idempotent.py",
        "            unknown = error\n",
        "            raise\n",
        "exchange/test_held.py",
        "connection_is_lost",
    ),
    Weakening(
        "exchange: one message of a concurrency key is worked on at a time",
        "prloom/exchange/sqlite/claiming.py",
        "busy.state = 'leased'",
        "busy.state = 'dead'",
        "exchange/test_conformance.py",
        "one_concurrency_key and sqlite",
    ),
    Weakening(
        "exchange: an idle worker takes nobody's turn to write",
        "prloom/exchange/sqlite/store.py",
        "        if not self._busy and not self.look(ask.topics).ready:\n            return None\n",
        "",
        "exchange/sqlite/test_store.py",
        "waits_for_nobodys_turn",
        ("prloom/exchange/sqlite/writer_lock.py", "PATIENCE = 30.0  # seconds\n", "PATIENCE = 0.2  # seconds\n"),
    ),
    Weakening(
        "exchange: what was acknowledged is flushed",
        "prloom/exchange/sqlite/connection.py",
        "synchronous = FULL",
        "synchronous = NORMAL",
        "exchange/sqlite/test_connection.py",
        "is_on_disk",
    ),
    Weakening(
        "exchange: setting the machine's clock ends no lease",
        "prloom/exchange/sqlite/clock.py",
        "if started is None else rows.moment(self._now(started))\n",
        "if started is None else rows.moment(self._wall_time())\n",
        "exchange/sqlite/test_clock.py",
        "though_the_clock_is_set",
    ),
    Weakening(
        "exchange: a newer prloom's database is not touched",
        "prloom/exchange/sqlite/schema.py",
        "    if version > VERSION:\n",
        "    if version < 0:\n",
        "exchange/sqlite/test_connection.py",
        "newer_prloom",
    ),
    Weakening(
        "exchange: another program's database is not touched",
        "prloom/exchange/sqlite/schema.py",
        "    if application != APPLICATION:\n",
        "    if application not in {0, APPLICATION}:\n",
        "exchange/sqlite/test_connection.py",
        "another_programs_database",
    ),
    Weakening(
        "exchange: no link is followed to a database",
        "prloom/exchange/sqlite/files.py",
        "os.lstat(path + suffix)",
        "os.stat(path + suffix)",
        "exchange/sqlite/test_connection.py",
        "a_link_in_the_place",
    ),
    Weakening(
        "exchange: the end of a conversation is told once",
        "prloom/exchange/sqlite/notifications.py",
        "told = 0 AND (taken_until IS NULL OR taken_until <= ?)",
        "told = 0 OR taken_until <= ?",
        "exchange/test_conformance.py",
        "is_told_once and sqlite",
    ),
    Weakening(
        "exchange: a conversation that goes on after its end was told is told again",
        "prloom/exchange/sqlite/store.py",
        "            publishing.track_anew(db, entry.message.conversation_id)\n",
        "",
        "exchange/test_conformance.py",
        "after_its_end_was_told and sqlite",
    ),
    Weakening(
        "exchange: a conversation has not ended where its next worker waits",
        "prloom/exchange/sqlite/store.py",
        "        self._note_worked(ask.topics)\n",
        "",
        "exchange/test_conformance.py",
        "where_a_worker_waits and sqlite",
    ),
    Weakening(
        "exchange: what a command prints that is no UTF-8 is replaced",
        "prloom/exchange/worker/bounded_buffer.py",
        'return whole.decode("utf-8", "replace")',
        "return whole.decode()",
        "exchange/worker/test_command.py",
        "no_utf_8",
    ),
    Weakening(
        "exchange: a command that takes too long has timed out, and is not begun again",
        "prloom/exchange/worker/job.py",
        '            self._by = "timeout"\n',
        '            self._by = "stopped"\n',
        "exchange/worker/test_command.py",
        "floods",
    ),
    Weakening(
        "exchange: a time-out ends the command with all that it started",
        "prloom/exchange/worker/process_reaper.py",
        "        return not left or since >= _LINGER + _GRACE + processes.ENDLESS\n",
        "        return True\n",
        "exchange/worker/test_command.py",
        "nothing_runs_any_more",
    ),
    Weakening(
        "exchange: a lease is renewed while its command runs",
        "prloom/exchange/worker/lease.py",
        "            self._held.renew()\n",
        "            pass\n",
        "exchange/worker/test_stopping.py",
        "lease_is_renewed",
    ),
    Weakening(
        "exchange: a command that cannot be started is the machine's fault, and tried again",
        "prloom/exchange/command_result.py",
        'stderr=""), retry=True)',
        'stderr=""))',
        "exchange/worker/test_command.py",
        "missing_is_tried_again",
    ),
    Weakening(
        "hostile: an agent sees no character that people do not see",
        "prloom/core/prompt.py",
        '    return _UNSEEN.sub("", _LINE_BREAKS.sub("\\n", text))\n',
        '    return _LINE_BREAKS.sub("\\n", text)\n',
        "hostile/test_texts.py",
        "people_do_not_see",
    ),
    Weakening(
        "hostile: what stands around a text from outside cannot be guessed",
        "prloom/core/prompt.py",
        "        fence=_unbroken(fence, texts),\n",
        '        fence="0" * 32,\n',
        "hostile/test_texts.py",
        "guessed",
    ),
    Weakening(
        "hostile: a terminal is sent nothing that it would obey",
        "prloom/cli/terminal.py",
        "    return _with_plain_newlines(text).translate(_SHOWN_IN_LINE)\n",
        "    return _with_plain_newlines(text)\n",
        "hostile/test_texts.py",
        "would_obey",
    ),
    Weakening(
        "hostile: nobody passes for a bot by a name that looks alike",
        "prloom/core/trust.py",
        "        login == each or (login.isascii()",
        '        login.split("[")[0] == each.split("[")[0] or (login.isascii()',
        "hostile/test_people.py",
        "that_the_operator_has_named",
    ),
    Weakening(
        "hostile: what was edited after the approval was written is not approved",
        "prloom/core/commands.py",
        "    return came_before if asked is None or written is None or written == asked else written < asked\n",
        "    return came_before\n",
        "hostile/test_people.py",
        "between_reading_and_approving",
    ),
    Weakening(
        "hostile: a command is the first word, and nothing that is quoted",
        "prloom/core/commands.py",
        '    if not body.startswith("/"):\n        return None\n',
        '    body = body[max(body.find("/prloom"), 0) :] or "x"\n',
        "hostile/test_people.py",
        "only_looks_like_a_command",
    ),
    Weakening(
        "hostile: a marker counts where prloom puts it, and not where it is quoted",
        "prloom/core/admission.py",
        "        if found and line.strip() == marker.marker(found[0]):\n",
        "        if found:\n",
        "hostile/test_people.py",
        "spoofed_marker and quoted",
    ),
    Weakening(
        "hostile: no hook of a branch is run",
        "prloom/workspace/git.py",
        '    "core.hooksPath=/dev/null",\n',
        "",
        "hostile/test_branches.py",
        "brings_is_run",
    ),
    Weakening(
        "hostile: no file system monitor of a branch is run",
        "prloom/workspace/git.py",
        '    "core.fsmonitor=false",\n',
        "",
        "workspace/test_git.py",
        "file_system_monitor",
    ),
    Weakening(
        "hostile: no repository among a branch's files is used",
        "prloom/workspace/git.py",
        '    "safe.bareRepository=explicit",\n',
        "",
        "workspace/test_git.py",
        "repository_among",
    ),
    Weakening(
        "P8: in a worktree too, the configuration is that of the operator's checkout",
        "prloom/workspace/root.py",
        "    if not start.linked and core.worktree in {None, start.path}:\n",
        "    if core.worktree in {None, start.path}:\n",
        "cli/test_options.py",
        "in_a_plans_worktree",
    ),
    Weakening(
        "hostile: a branch that commits prloom's own files is not adopted",
        "prloom/workspace/worktree.py",
        "    if found := tree.committed_state(repo, sha):\n",
        '    if (found := tree.committed_state(repo, sha)) == "":\n',
        "hostile/test_branches.py",
        "own_files and state",
    ),
    Weakening(
        "hostile: the name of a branch is no option of git",
        "prloom/workspace/worktree.py",
        "    git.run([*add, path, sha], cwd=repo.root)\n",
        '    git.run([*(each for each in add if each not in ("--", "--detach")), path, branch], cwd=repo.root)\n',
        "hostile/test_branches.py",
        "git_allows and output",
    ),
    Weakening(
        "hostile: an id cannot become a second line",
        "prloom/core/prompt.py",
        "        return json.dumps(value, ensure_ascii=_clean(value) != value)\n",
        "        return value\n",
        "core/test_prompt.py",
        "that_nobody_sees_shows",
    ),
    Weakening(
        "hostile: a permission that does not exist is none",
        "prloom/core/trust.py",
        "_RANKS.get(permission, -1)",
        "_RANKS.get(permission.strip().lower(), 9)",
        "hostile/test_people.py",
        "does_not_exist",
    ),
    Weakening(
        "hostile: a forged line is no event because it looks like one",
        "prloom/engine/bus/entries.py",
        '    return found.data if found.kind == "event" and found.schema_version',
        "    return found.data if found.schema_version",
        "hostile/test_people.py",
        "forged_line",
    ),
    Weakening(
        "hostile: deep JSON delays nobody",
        "prloom/engine/bus/entries.py",
        "    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):\n",
        "    except (msgspec.DecodeError, UnicodeDecodeError):\n",
        "hostile/test_people.py",
        "deep_and_wide",
    ),
    Weakening(
        "hostile: no body fills the prompt",
        "prloom/core/prompt.py",
        "    if left_out <= 0:\n",
        "    if limit:\n",
        "core/test_prompt.py",
        "at_the_limit",
    ),
    Weakening(
        "hostile: claude does not read a worktree's settings",
        "prloom/agents/claude.py",
        '    policy = ("--setting-sources", "user", "--strict-mcp-config")\n',
        '    policy = ("--setting-sources", "user,project", "--strict-mcp-config")\n',
        "agents/test_claude.py",
        "settings_and_servers",
    ),
    Weakening(
        "hostile: codex does not trust a worktree",
        "prloom/agents/codex.py",
        '"-c", untrusted, *shell',
        "*shell",
        "agents/test_codex.py",
        "not_trusted and plain",
    ),
    Weakening(
        "hostile: codex takes no orders from files of a worktree",
        "prloom/agents/codex.py",
        "            *_NO_ORDERS,\n",
        "",
        "agents/test_codex.py",
        "takes_no_orders",
    ),
    Weakening(
        "hostile: codex does not get the operator's MCP servers in a run that reads",
        "prloom/agents/codex.py",
        "            *_without(request.settings, request.stage),\n",
        "",
        "agents/test_codex.py",
        "none_of_the_operators",
    ),
    Weakening(
        "hostile: gemini is not given a worktree, whose orders it would take",
        "prloom/agents/gemini.py",
        '"--admin-policy", policy, *servers)',
        '"--admin-policy", policy, *servers, "--include-directories", str(request.cwd))',
        "agents/test_gemini.py",
        "whose_orders",
    ),
    Weakening(
        "P7: codex does not come upon what waits in prloom's own files",
        "prloom/agents/codex.py",
        """,{own}="deny"}}""",
        """}}""",
        "agents/test_codex.py",
        "come_upon",
    ),
    Weakening(
        "P7: claude does not come upon what waits in prloom's own files",
        "prloom/agents/claude.py",
        ', "--disallowedTools", _OWN)',
        ")",
        "agents/test_claude.py",
        "come_upon",
    ),
    Weakening(
        "hostile: opencode does not read a worktree's configuration",
        "prloom/agents/opencode.py",
        '    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",\n',
        "",
        "agents/test_opencode.py",
        "settings_and_plugins",
    ),
    Weakening(
        "hostile: gemini does not trust a worktree",
        "prloom/agents/gemini.py",
        "    return Invocation(argv=argv, env=_ENV, outside",
        "    return Invocation(argv=argv, outside",
        "agents/test_gemini.py",
        "counts_as_trusted",
    ),
    Weakening(
        "P7: what is shown is the text that came in, to the letter",
        "prloom/engine/bus/entries.py",
        " and digest(found) == opened.digest\n",
        "\n",
        "engine/plan/test_intake.py",
        "changed_in_the_journal",
    ),
    Weakening(
        "secrets: what holds one is withheld",
        "prloom/engine/plan/delivery.py",
        "    found = () if action is None else leaks.in_action(action, secrets)\n",
        "    found: tuple[str, ...] = ()\n",
        "engine/plan/test_withheld.py",
        "is_not_sent",
    ),
    Weakening(
        "secrets: a retry is no release",
        "prloom/core/outbox.py",
        '    return Delivery(action_id=action.id, state="queued", attempts=0)\n',
        '    return Delivery(action_id=action.id, state="queued", attempts=0, released=True)\n',
        "engine/plan/test_withheld.py",
        "a_retry_does_not",
    ),
    Weakening(
        "secrets: a known one is found in disguise",
        "prloom/core/secret_scan.py",
        "    return any(each in letters for each in _disguises(value)) or value.encode().hex() in letters.lower()\n",
        "    return value in text\n",
        "core/test_leaks.py",
        "in_disguise",
    ),
    Weakening(
        "damage: a state file that is not what was written is not believed",
        "prloom/storage/document.py",
        "    return content[-_SIZE:] == _CHECKED % crc32(text)\n",
        "    return bool(text)\n",
        "storage/test_document.py",
        "flipped_byte",
    ),
    Weakening(
        "damage: a decision log that was cut makes no decision twice",
        "prloom/engine/bus/event_store.py",
        "            if cut and decision.seq <= self.state.seq:\n                continue\n",
        "",
        "hostile/test_replaced.py",
        "undoes_nothing",
    ),
    Weakening(
        "damage: events of a bus that was replaced are taken in",
        "prloom/engine/plan/admission.py",
        "    if replaced:\n        rereading",
        "    if replaced and desk is None:\n        rereading",
        "hostile/test_replaced.py",
        "took_the_place or behind_a_cut",
    ),
    Weakening(
        "damage: a bus that was replaced while nobody was at work is noticed",
        "prloom/engine/plan/admission.py",
        "desk.ledger.events.stands(state.cursor, state.fingerprint)",
        "desk.ledger.events.stands(state.cursor)",
        "hostile/test_replaced.py",
        "nobody_is_at_work",
    ),
    Weakening(
        "damage: a bus that was replaced but for its end is noticed",
        "prloom/storage/file_stamp.py",
        "    for start in range(0, rest, -(-rest // _SAMPLES) or 1):\n",
        "    for start in ():\n",
        "hostile/test_replaced.py",
        "but_for_the_last",
    ),
    Weakening(
        "damage: a newer prloom's decisions are left alone",
        "prloom/engine/bus/event_store.py",
        "        if newer is not None:\n",
        "        if newer is None:\n            newer = None\n        elif not newer:\n",
        "hostile/test_replaced.py",
        "decisions_of_a_newer",
    ),
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("weakening", WEAKENINGS, ids=lambda weakening: weakening.guarantee)
def test_a_build_without_the_guarantee_fails_its_test(weakening: Weakening, build: Build, run_pytest: RunPytest):
    with ExitStack() as changes:
        changes.enter_context(build.changed(weakening.file, weakening.strong, weakening.weak))
        if weakening.shorter is not None:
            changes.enter_context(build.changed(*weakening.shorter))
        ended = run_pytest(*OPTIONS, f"tests/{weakening.test}", "-k", weakening.select)

    assert ended.code == 1, ended.said
    assert "failed" in ended.said


@pytest.mark.timeout(600)
def test_a_build_that_is_not_weakened_fails_no_test(run_pytest: RunPytest):
    ended = run_pytest(*OPTIONS, "tests/core/test_prompt.py", "-k", "at_the_limit")

    assert ended.code == 0, ended.said
