from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType
from typing import Any

import pytest
from forge_bridge import ForgeBridge

from prloom.engine.adoption import forge_access
from prloom.errors import ExtensionError, PrloomError
from prloom.extensions import bridges
from prloom.extensions.bridges import LoadedBridge, LoadedBridges

A_BRIDGE = """
from prloom.api import Delivered, Polled

class ABridge:
    name = "a-bridge"
    targets = ("there",)

    def __init__(self, config):
        self.config = config

    async def events(self, ctx, state):
        return Polled((), state)

    async def actions(self, ctx, action):
        return Delivered()

def create(config):
    return ABridge(config)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo" / "tools").mkdir(parents=True)
    return tmp_path / "repo"


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    (tmp_path / "bundled").mkdir()
    return tmp_path / "bundled"


def write(file: Path, code: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(code))
    return file


def load(repo: Path, bundled: Path, **tables: Mapping[str, Any]) -> LoadedBridges:
    named = {name.replace("__", "-"): table for name, table in tables.items()}
    return bridges.load(named, repo_root=repo, shipped=bundled)


def only(found: LoadedBridges) -> LoadedBridge:
    assert found.failed == ()
    (loaded,) = found.loaded
    return loaded


def the_error(found: LoadedBridges) -> str:
    assert found.loaded == ()
    ((_, error),) = found.failed
    return error


def failing(repo: Path, bundled: Path, code: str, **table: object) -> str:
    write(repo / "tools" / "acme.py", code)
    return the_error(load(repo, bundled, acme={"module": "./tools/acme.py", **table}))


def test_a_module_named_in_the_configuration_is_loaded_from_the_repository(repo: Path, bundled: Path) -> None:
    write(repo / "tools" / "acme.py", A_BRIDGE)

    loaded = only(load(repo, bundled, acme={"enabled": True, "module": "./tools/acme.py", "poll_interval": "5s"}))

    assert (loaded.name, loaded.source) == ("acme", "./tools/acme.py")
    assert loaded.targets == ("there",)
    assert loaded.poll_interval == timedelta(seconds=5)
    assert type(loaded.bridge).__module__ == "prloom_bridges.acme"


def test_a_folder_is_a_package_whose_relative_imports_work(repo: Path, bundled: Path) -> None:
    write(repo / "tools" / "acme" / "__init__.py", "from .inner import create")
    write(repo / "tools" / "acme" / "inner" / "__init__.py", "from ..base import create")
    write(repo / "tools" / "acme" / "base.py", A_BRIDGE)

    loaded = only(load(repo, bundled, my__acme={"module": "tools/acme"}))

    assert type(loaded.bridge).__module__ == "prloom_bridges.my_acme.base"


def test_the_bytecode_of_a_bundled_bridge_is_kept_and_the_repository_stays_as_it_is(
    repo: Path, bundled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for folder in (bundled / "wall", repo / "tools" / "acme"):
        write(folder / "__init__.py", "from .inner import create")
        write(folder / "inner.py", A_BRIDGE.replace("there", folder.name))

    found = load(repo, bundled, acme={"module": "./tools/acme"})

    assert [each.name for each in found.loaded] == ["wall", "acme"]
    assert [file.parent.parent.name for file in sorted(bundled.parent.rglob("*.pyc"))] == ["wall", "wall"]
    assert not sys.dont_write_bytecode


def test_a_bundled_bridge_needs_no_configuration(repo: Path, bundled: Path) -> None:
    write(bundled / "shipped" / "__init__.py", A_BRIDGE)
    (bundled / "empty").mkdir()

    loaded = only(load(repo, bundled))

    assert (loaded.name, loaded.source, loaded.poll_interval) == ("shipped", "bundled", timedelta(seconds=60))


def test_a_module_of_the_configuration_takes_the_place_of_a_bundled_bridge(repo: Path, bundled: Path) -> None:
    write(bundled / "acme" / "__init__.py", "raise RuntimeError('not this one')")
    write(repo / "acme.py", A_BRIDGE)

    assert only(load(repo, bundled, acme={"module": "acme.py"})).source == "acme.py"


def test_nothing_of_a_disabled_bridge_is_executed(repo: Path, bundled: Path) -> None:
    trace = repo / "trace"
    write(repo / "tools" / "acme.py", f"open({str(trace)!r}, 'w')")

    found = load(repo, bundled, acme={"module": "./tools/acme.py", "enabled": False})

    assert found == LoadedBridges(disabled=("acme",))
    assert not trace.exists()


def test_a_bridge_without_a_module_is_an_error(repo: Path, bundled: Path) -> None:
    error = the_error(load(repo, bundled, gihub={"enabled": True}))

    assert error == 'bridge gihub: no bridge of this name comes with prloom; set its file with `module = "./FILE.py"`'


def at_origin_does(line: str) -> str:
    """Return a bridge that does this with the address of the remote."""
    events = "    async def events"
    return A_BRIDGE.replace(events, f"    def use_origin(self, url):\n        {line}\n\n{events}")


def test_a_bridge_that_uses_the_remote_gets_its_address_once(repo: Path, bundled: Path) -> None:
    code = A_BRIDGE.replace(
        "    async def events", "    def use_origin(self, url):\n        self.url = url\n\n    async def events"
    )
    write(repo / "acme.py", code)

    at_origin = bridges.load(
        {"acme": {"module": "acme.py"}}, repo_root=repo, shipped=bundled, remote=lambda: "git@x:a/b"
    )
    without = bridges.load({"acme": {"module": "acme.py"}}, repo_root=repo, shipped=bundled, remote=lambda: None)

    assert vars(only(at_origin).bridge)["url"] == "git@x:a/b"
    assert "url" not in vars(only(without).bridge)


def test_nobody_asks_for_the_remote_where_no_bridge_uses_it(repo: Path, bundled: Path) -> None:
    def remote() -> str:
        raise AssertionError("git is asked")

    write(repo / "acme.py", A_BRIDGE)

    assert bridges.load({"acme": {"module": "acme.py"}}, repo_root=repo, shipped=bundled, remote=remote).failed == ()


def test_what_a_bridge_raises_about_the_remote_is_its_own_failure(repo: Path, bundled: Path) -> None:
    code = A_BRIDGE.replace(
        "    async def events", "    def use_origin(self, url):\n        raise KeyError(url)\n\n    async def events"
    )
    write(repo / "acme.py", code)
    write(bundled / "wall" / "__init__.py", A_BRIDGE.replace("there", "wall"))

    found = bridges.load({"acme": {"module": "acme.py"}}, repo_root=repo, shipped=bundled, remote=lambda: "git@x:a/b")

    assert [each.name for each in found.loaded] == ["wall"]
    assert found.failed[0].error == (
        "bridge acme (acme.py): use_origin raised KeyError: 'git@x:a/b' (acme.py, line 12)"
    )


def test_a_module_that_is_missing_is_named(repo: Path, bundled: Path) -> None:
    error = the_error(load(repo, bundled, acme={"module": "./tools/acme.py"}))

    assert error == (
        f"bridge acme (./tools/acme.py): there is no {repo}/tools/acme.py; correct `module` in [bridges.acme]"
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_like_it", "its module raised ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("raise SystemExit(3)", "its module raised SystemExit: 3 (acme.py, line 1)"),
        ("def create(:\n    pass", "its module raised SyntaxError: invalid syntax (acme.py, line 1)"),
        (
            "def create(config):\n    raise ValueError('no\\n token')",
            "create(config) raised ValueError: no token (acme.py",
        ),
        ("def create(config):\n    exit()", "create(config) raised SystemExit: None (acme.py, line 2)"),
        (
            "def create(config):\n    raise ValueError('\\x1b[2J')",
            "create(config) raised ValueError: \ufffd[2J (acme.py",
        ),
        ("def create():\n    pass", "create(config) raised TypeError: create() takes 0 positional arguments"),
        ("class E(BaseException): pass\nraise E('own')", "its module raised E: own (acme.py, line 2)"),
        ("CREATE = 1", "acme.py has no create(config); add one that returns the bridge"),
        (
            "from prloom.api import ExtensionError\ndef create(config): raise ExtensionError('no token; set TOKEN')",
            "no token; set TOKEN",
        ),
    ],
)
def test_what_a_bridge_raises_is_its_error_in_one_line(repo: Path, bundled: Path, code: str, said: str) -> None:
    error = failing(repo, bundled, code)

    assert error.startswith(f"bridge acme (./tools/acme.py): {said}")
    assert error.isprintable()


def test_an_interrupt_of_the_operator_is_no_error_of_the_bridge(repo: Path, bundled: Path) -> None:
    write(repo / "acme.py", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        load(repo, bundled, acme={"module": "acme.py"})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return ABridge(config)", "return None", "`name` is None; give the bridge (NoneType) a name"),
        ("return ABridge(config)", "return ABridge", "create returned the class ABridge; return an instance of it"),
        ("def create", "async def create", "create must be a plain function, not an async one"),
        ('name = "a-bridge"', "name = ''", "`name` is ''; give the bridge (ABridge) a name"),
        ('targets = ("there",)', "", "`targets` is None; give a tuple of names"),
        ('targets = ("there",)', "targets = 'there'", "`targets` is 'there'; give a tuple of names"),
        ('targets = ("there",)', "targets = ('', )", "`targets` contains ''; use names"),
        (
            'targets = ("there",)',
            "targets = ('plan', )",
            "the target 'plan' is reserved for prloom; claim another name",
        ),
        ("async def events", "async def poll", "it has no `events`; add `async def events`"),
        ("async def events", "def events", "`events` is not an async function; write `async def events`"),
        ("self, ctx, action", "self, action", "`actions` must take (ctx, action)"),
        ("async def actions", "actions = 3\n    async def do", "`actions` is not an async function"),
        ('name = "a-bridge"', "name = property(lambda self: 1 / 0)", "the bridge raised ZeroDivisionError: division"),
    ],
)
def test_what_is_no_bridge_is_refused_when_it_is_loaded(
    repo: Path, bundled: Path, old: str, new: str, said: str
) -> None:
    assert old in A_BRIDGE

    assert said in failing(repo, bundled, A_BRIDGE.replace(old, new))


def test_methods_may_be_wrapped_or_objects(repo: Path, bundled: Path) -> None:
    wrapped = """
        from functools import partial, wraps
        def timed(method):
            @wraps(method)
            def around(*args): return method(*args)
            return around
    """
    code = dedent(wrapped) + A_BRIDGE.replace("    async def actions", "    @timed\n    async def actions").replace(
        "self.config = config", "self.config = config; self.events = partial(ABridge.events, self)"
    )
    write(repo / "acme.py", code)

    assert only(load(repo, bundled, acme={"module": "acme.py"})).targets == ("there",)


def test_a_failing_bridge_does_not_keep_the_others_from_loading(repo: Path, bundled: Path) -> None:
    write(repo / "bad.py", "raise SystemExit")
    write(repo / "good.py", A_BRIDGE)

    found = load(repo, bundled, bad={"module": "bad.py"}, good={"module": "good.py"})

    assert [loaded.name for loaded in found.loaded] == ["good"]
    assert [name for name, _ in found.failed] == ["bad"]


def test_python_forgets_a_bridge_that_could_not_be_loaded(repo: Path, bundled: Path) -> None:
    write(repo / "acme" / "__init__.py", "from . import part\ndef create(config): raise ValueError")
    write(repo / "acme" / "part.py", "")

    load(repo, bundled, forgotten={"module": "acme"})

    assert [name for name in sys.modules if name.startswith("prloom_bridges.forgotten")] == []


def test_two_names_with_one_slug_are_an_error_of_both(repo: Path, bundled: Path) -> None:
    write(repo / "one.py", A_BRIDGE)

    found = bridges.load({"a-b": {"module": "one.py"}, "a_b": {"module": "one.py"}}, repo_root=repo, shipped=bundled)

    assert [name for name, error in found.failed if "differs only in '-' and '_'" in error] == ["a-b", "a_b"]


def test_a_name_that_could_be_a_path_is_refused(repo: Path, bundled: Path) -> None:
    write(repo / "one.py", A_BRIDGE)

    found = bridges.load({"../x": {"module": "one.py"}}, repo_root=repo, shipped=bundled)

    assert "the name '../x' cannot be used" in the_error(found)


def test_two_bridges_that_claim_one_target_stop_the_start(repo: Path, bundled: Path) -> None:
    write(bundled / "shipped" / "__init__.py", A_BRIDGE)
    write(repo / "acme.py", A_BRIDGE)

    with pytest.raises(ExtensionError) as caught:
        load(repo, bundled, acme={"module": "acme.py"})

    assert str(caught.value) == (
        "the bridges shipped (bundled) and acme (acme.py) both claim the target 'there'; "
        "disable one with `enabled = false` in [bridges.acme]"
    )


def test_the_claimant_of_a_target_is_found(repo: Path, bundled: Path) -> None:
    write(repo / "acme.py", A_BRIDGE)
    found = load(repo, bundled, acme={"module": "acme.py"})

    assert found.claimant("there") is found.loaded[0]
    assert found.claimant("elsewhere") is None


def test_a_module_outside_the_repository_is_refused(repo: Path, bundled: Path) -> None:
    write(repo.parent / "acme.py", A_BRIDGE)
    (repo / "link.py").symlink_to(repo.parent / "acme.py")

    for module in ("../acme.py", str(repo.parent / "acme.py"), "link.py"):
        assert f"its module {repo.parent}/acme.py is outside the repository" in the_error(
            load(repo, bundled, acme={"module": module})
        )


@pytest.mark.parametrize("worktree", ["prloom/.local/worktrees/pr-7", "trees/pr-7"])
def test_p8_a_module_in_a_pull_requests_worktree_is_refused(repo: Path, bundled: Path, worktree: str) -> None:
    write(repo / worktree / ".git", f"gitdir: {repo}/.git/worktrees/pr-7\n")
    write(repo / worktree / "tools" / "acme.py", A_BRIDGE)

    error = the_error(load(repo, bundled, acme={"module": f"{worktree}/tools/acme.py"}))

    assert "is in a plan's worktree; use the file in the main checkout" in error


def test_a_module_may_come_from_a_submodule(repo: Path, bundled: Path) -> None:
    write(repo / "tools" / ".git", "gitdir: ../.git/modules/tools\n")
    write(repo / "tools" / "acme.py", A_BRIDGE)

    assert only(load(repo, bundled, acme={"module": "tools/acme.py"})).name == "acme"


def test_create_gets_the_bridges_own_keys(repo: Path, bundled: Path) -> None:
    write(repo / "acme.py", A_BRIDGE)

    loaded = only(load(repo, bundled, acme={"module": "acme.py", "enabled": True, "room": 7}))

    assert getattr(loaded.bridge, "config", None) == MappingProxyType({"room": 7})


CONFIGURED = A_BRIDGE + dedent(
    """
    from pydantic import BaseModel

    class Config(BaseModel, extra="forbid"):
        room: int
        token: str = ""
    """
)


def test_create_gets_the_bridges_own_config_if_it_has_one(repo: Path, bundled: Path) -> None:
    write(repo / "acme.py", CONFIGURED)

    loaded = only(load(repo, bundled, acme={"module": "acme.py", "room": "7"}))

    assert getattr(loaded.bridge, "config").room == 7  # noqa: B009 - the protocol has no config


def test_settings_that_do_not_fit_the_bridges_config_are_named_without_their_values(repo: Path, bundled: Path) -> None:
    error = failing(repo, bundled, CONFIGURED, room="hall", token=["s3cret"], colour=1, rooms=2)

    assert error == (
        "bridge acme (./tools/acme.py): [bridges.acme] room: Input should be a valid integer, unable to parse string "
        "as an integer; token: Input should be a valid string; colour is not known; "
        "rooms is not known; did you mean 'room'?"
    )


def test_a_config_that_is_no_pydantic_model_is_an_error(repo: Path, bundled: Path) -> None:
    assert "its Config is not a pydantic model" in failing(repo, bundled, A_BRIDGE + "\nclass Config: pass")


def test_the_poll_interval_is_the_configured_one_or_the_bridges_own(repo: Path, bundled: Path) -> None:
    own = "from datetime import timedelta\n" + A_BRIDGE.replace(
        'name = "a-bridge"', 'name = "a-bridge"; poll_interval = timedelta(seconds=3)'
    )
    write(repo / "acme.py", own)

    assert only(load(repo, bundled, acme={"module": "acme.py"})).poll_interval == timedelta(seconds=3)
    configured = load(repo, bundled, acme={"module": "acme.py", "poll_interval": timedelta(minutes=1)})
    assert only(configured).poll_interval == timedelta(minutes=1)


@pytest.mark.parametrize("interval", ["soon", "0s", 30])
def test_a_poll_interval_that_is_none_is_an_error(repo: Path, bundled: Path, interval: object) -> None:
    assert "bridge acme (./tools/acme.py): poll_interval is " in failing(
        repo, bundled, A_BRIDGE, poll_interval=interval
    )


def test_a_bridge_is_executed_afresh_by_each_load(repo: Path, bundled: Path) -> None:
    write(repo / "acme.py", A_BRIDGE)
    first = only(load(repo, bundled, acme={"module": "acme.py"}))
    write(repo / "acme.py", A_BRIDGE.replace("there", "somewhere else"))
    second = only(load(repo, bundled, acme={"module": "acme.py"}))

    assert (first.targets, second.targets) == (("there",), ("somewhere else",))


def test_the_bundled_local_bridge_is_found_where_prloom_is_installed(repo: Path) -> None:
    found = bridges.load({}, repo_root=repo)

    assert [(loaded.name, loaded.targets) for loaded in found.loaded if loaded.name == "local"] == [
        ("local", ("local",))
    ]


class IdleForge(ForgeBridge):
    """A forge that no configuration names a repository of."""

    def unavailable(self) -> str | None:
        return "no repository is configured"


def with_forges(**forges: ForgeBridge) -> LoadedBridges:
    return LoadedBridges(
        tuple(LoadedBridge(name, "bundled", forge, (name,), timedelta(seconds=60)) for name, forge in forges.items())
    )


def test_a_second_forge_that_nobody_configured_does_not_take_the_first_away() -> None:
    found = with_forges(github=ForgeBridge(), gitlab=IdleForge()).only_forge()

    assert found is not None
    assert found.name == "github"


def test_of_two_forges_that_can_be_used_neither_is_the_only_one() -> None:
    found = with_forges(github=ForgeBridge(), gitlab=ForgeBridge())

    assert found.only_forge() is None
    with pytest.raises(
        PrloomError, match=r"several bridges connect to a forge \(github, gitlab\); disable all but one"
    ):
        forge_access.only_forge(found)


def test_a_forge_without_a_repository_is_still_the_one_that_says_why() -> None:
    assert forge_access.only_forge(with_forges(github=IdleForge())).name == "github"


def test_a_forge_that_cannot_say_whether_it_is_there_is_not_used(tmp_path: Path) -> None:
    class Broken(ForgeBridge):
        def unavailable(self) -> str | None:
            raise SystemExit(3)

    bridge = Broken()
    loaded = LoadedBridges((LoadedBridge("forge", "test", bridge, ("forge",), timedelta(seconds=60)),))

    assert loaded.forges() == ()
