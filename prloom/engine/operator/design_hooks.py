"""Show a plan that a designer has written to the plugins' afterDesign hooks, before it is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from prloom.api import Event
from prloom.config.models import Config
from prloom.core.prompts import prompt_text
from prloom.engine.bus import plans
from prloom.engine.operator import designer, new_draft, plan_texts
from prloom.engine.plan.plugin_set import PluginSet
from prloom.errors import PrloomError
from prloom.extensions.host.interface import HookFailed
from prloom.model import record
from prloom.model.hook import HookCall, Outcome
from prloom.model.hook_points import AFTER_DESIGN
from prloom.storage import paths
from prloom.storage.safe_dir import SafeDir

_TOO_EARLY = (
    "a plan that was only just written has no pull request and no store, so the hook can post and save nothing; "
    "do that in afterActivate"
)


class Designed(NamedTuple):
    """A plan after all hooks; `blocked` says why it must not be worked on as it is, and names the plugin."""

    text: str
    blocked: str | None = None


class DesignServices:
    """Implements `prloom.api.context.Services` for a plan that is no more than a text yet: it has no events."""

    def __init__(self, root: Path, config: Config, environ: Mapping[str, str]) -> None:
        self._root = root
        self._config = config
        self._environ = environ

    async def run_agent(self, prompt: str, *, files: Sequence[str], stage: str, model: str | None) -> str:
        """Run the stage's agent, which reads the operator's checkout; `files` are named to it."""
        return await designer.run_stage(
            self._root, self._config, stage, prompt_text.with_files(prompt, files), model=model, environ=self._environ
        )

    def read_events(
        self, *, types: Sequence[str] | None, since_id: str | None, limit: int
    ) -> tuple[Sequence[Event], str | None]:
        """Return no events."""
        return (), since_id

    def read_plan(self, plan_id: str) -> str:
        """Return the text of another plan, or of a draft."""
        where = plans.locate(self._root, self._config.worktrees_dir)
        return plan_texts.read(where, plan_texts.find(where, plan_id))


async def run(
    plugins: PluginSet, root: Path, config: Config, text: str, *, plan_id: str, environ: Mapping[str, str]
) -> Designed:
    """Return the text as the hooks of all plugins leave it; the first that fails, or blocks the plan, is the last.

    The text of one that fails is not taken over.
    """
    services = DesignServices(root, config, environ)
    try:
        await plugins.start()
        for key in plugins.with_hook(AFTER_DESIGN):
            call = _call(root, key, plan_id, text)
            try:
                outcome = await plugins[key].host.run(call, services, config.plugins.hook_timeout)
            except HookFailed as failure:
                return Designed(text, f"plugin {key}: {AFTER_DESIGN} failed: {plugins[key].without_name(failure)}")
            problem = _problem(config, outcome, plan_id)
            if problem is not None:
                return Designed(text, f"plugin {key}: {AFTER_DESIGN} failed: {problem}")
            text = outcome.plan or text
            if outcome.block is not None:
                return Designed(text, f"plugin {key}: {outcome.block}")
    finally:
        await plugins.stop()
    return Designed(text)


def _problem(config: Config, outcome: Outcome, plan_id: str) -> str | None:
    """Return why what a hook did cannot be used, or None."""
    if outcome.actions or any(write.values or write.deleted for write in outcome.writes):
        return _TOO_EARLY
    if outcome.plan is None:
        return None
    try:
        new_draft.require_plan(config, outcome.plan, plan_id or None)
    except (PrloomError, UnicodeError) as error:
        return f"it returned a text that is no plan: {error}"
    return None


def _call(root: Path, plugin: str, plan_id: str, text: str) -> HookCall:
    return HookCall(
        hook=AFTER_DESIGN,
        plan_id=plan_id,
        repo_root=str(root),
        worktree=str(root),
        now=record.iso(datetime.now(UTC)),
        plan=text,
        global_state=_global_state(root, plugin),
    )


def _global_state(root: Path, plugin: str) -> Mapping[str, record.Json]:
    """Return what the plugin has saved for all plans; a file that cannot be read is the dispatcher's to mend."""
    folder = SafeDir.open(root, *paths.LOCAL, paths.PLUGIN_STATE_GLOBAL)
    if folder is None:
        return {}
    with folder:
        try:
            values = record.decode(dict[str, record.Json], folder.read_bytes(paths.plugin_file(plugin)) or b"{}")
        except msgspec.MsgspecError:
            return {}
    return {key: value for key, value in values.items() if not key.startswith("$")}
