"""Bring a saved projection up to what its bus says by now, in memory only."""

from __future__ import annotations

import msgspec

from prloom.core import projection
from prloom.engine.views import journals
from prloom.errors import StorageError
from prloom.model.position import Cursor, Position
from prloom.model.state import DispatchState
from prloom.storage import paths
from prloom.storage.reader import JournalReader
from prloom.storage.safe_dir import SafeDir

_SOMEWHERE = Position(0, 0)


class _Nowhere(dict[str, Position]):
    """Where the actions of decisions stand that the dispatcher has yet to write down: nobody who looks on needs it."""

    def __missing__(self, action_id: str) -> Position:
        return _SOMEWHERE


def folded(bus: SafeDir, state: DispatchState | None) -> DispatchState:
    """Return the state after all decisions of the log; None: nothing was saved, so it is rebuilt from the log."""
    log = JournalReader(bus, paths.DECISIONS)
    if state is None:
        # The newest segment is enough: it begins with the whole state.
        state = DispatchState(log=Cursor(max(log.segments(), default=1)))
    cut = not log.stands(state.log)  # by somebody, beneath us: what was decided before stands all the same
    for said in journals.decisions(journals.behind(log, Cursor(log.segments()[0]) if cut else state.log)):
        if cut and said.decision.seq <= state.seq:
            continue
        try:
            state = projection.fold(
                state, said.decision, at=said.ts, end=state.log, outbox=_Nowhere(), tail=state.outbox
            )
        except (msgspec.ValidationError, LookupError) as error:
            reason = f"decision {said.decision.seq} of {log.path} cannot be applied: {error}"
            raise StorageError(f"{reason}; see `prloom doctor`") from error
    return state


def untaken(bus: SafeDir, state: DispatchState) -> frozenset[str]:
    """Return the events that were appended and that the dispatcher has not taken in yet; they are pending."""
    lines = journals.behind(JournalReader(bus, paths.EVENTS), state.cursor)
    return frozenset(came.event.id for came in journals.events(lines)) - state.open.keys()
