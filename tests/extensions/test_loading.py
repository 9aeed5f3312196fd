from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from prloom.api.manifest import Manifest
from prloom.extensions import loading
from prloom.extensions.discovery import DiscoveredPlugin

Plugin = Callable[..., DiscoveredPlugin]


Loaded = Callable[[], set[str]]


@pytest.fixture
def loaded_modules() -> Loaded:
    """Tell which modules of plugins have come into Python since the test began, whatever was there then."""
    before = dict(sys.modules)
    return lambda: {
        name
        for name, module in sys.modules.items()
        if name.startswith("prloom_plugins.") and module is not before.get(name)
    }


def test_a_module_is_registered_before_it_runs_and_finds_its_neighbours(plugin: Plugin, loaded_modules: Loaded) -> None:
    found = plugin(
        """
        import sys
        from .words import WORD
        from . import words

        HERE = sys.modules[__name__]

        def register(ctx):
            ctx.register_hook(WORD, lambda plan, ctx: HERE and words.WORD)
        """,
        name="a-plugin",
        words='WORD = "onEvent"',
    )

    loaded = loading.load(found, {})

    assert loaded.error is None
    assert loaded_modules() == {"prloom_plugins.a_plugin", "prloom_plugins.a_plugin.words"}


def test_a_nested_key_is_one_module(plugin: Plugin, loaded_modules: Loaded) -> None:
    found = msgspec.structs.replace(plugin("def register(ctx): pass"), key="image/open-ai")

    loading.load(found, {})

    assert loaded_modules() == {"prloom_plugins.image__open_ai"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "could not be loaded: ZeroDivisionError: division by zero (__init__.py, line 1, in <module>)"),
        ("raise SystemExit(3)", "could not be loaded: SystemExit: 3 (__init__.py, line 1, in <module>)"),
        ("import nowhere", "could not be loaded: ModuleNotFoundError: No module named 'nowhere' (__init__.py, line 1"),
        ("def register(ctx)", "could not be loaded: SyntaxError: expected ':' (__init__.py, line 1)"),
        ("x = 1", "has no register; add `def register(ctx):` to "),
        ("register = 5", ": register is 5; make it a function register(ctx)"),
        ("async def register(ctx): pass", ": register must be a plain function, not an async one"),
        ("def register(): pass", "could not be loaded: TypeError: register() takes 0 positional arguments but 1 was"),
        (
            "def register(ctx):\n  ctx.register_hook('onEvent', 7)",
            ": hook onEvent: 7 cannot be called",
        ),
        (
            "def register(ctx):\n  ctx.register_command('prloom', print)",
            ": command '/prloom' is built in; choose another name",
        ),
        (
            "class Odd(BaseException):\n  def __str__(self): 1 / 0\ndef register(ctx): raise Odd",
            "could not be loaded: Odd: (its text cannot be shown) (__init__.py, line 3, in register)",
        ),
    ],
)
def test_whatever_goes_wrong_is_one_line_on_the_plugin(plugin: Plugin, code: str, said: str) -> None:
    loaded = loading.load(plugin(code), {})

    assert loaded.registrations is None
    assert str(loaded.error).startswith(("plugin noted " + said, "plugin noted" + said))
    assert "\n" not in str(loaded.error)


def test_a_plugin_that_fails_leaves_nothing_behind(plugin: Plugin, loaded_modules: Loaded) -> None:
    found = plugin(
        """
        from . import words

        def register(ctx):
            ctx.register_hook("onEvent", lambda event, ctx: None)
            raise SystemExit
        """,
        words="",
    )

    loaded = loading.load(found, {})

    assert loaded.registrations is None
    assert loaded_modules() == set()


def test_a_plugin_that_was_mended_is_loaded_anew(plugin: Plugin) -> None:
    found = plugin("from .words import register", words="raise ValueError")
    assert loading.load(found, {}).error is not None

    (found.code.parent / "words.py").write_text("def register(ctx):\n    'It is mended.'\n")

    assert loading.load(found, {}).error is None


def test_an_interrupt_from_the_keyboard_is_passed_on_after_the_clean_up(plugin: Plugin, loaded_modules: Loaded) -> None:
    with pytest.raises(KeyboardInterrupt):
        loading.load(plugin("raise KeyboardInterrupt"), {})

    assert loaded_modules() == set()


def test_what_is_registered_too_late_has_no_effect(plugin: Plugin) -> None:
    found = plugin("""
        KEPT = []

        def register(ctx):
            KEPT.append(ctx)
    """)
    loaded = loading.load(found, {})
    assert loaded.registrations is not None

    sys.modules["prloom_plugins.noted"].KEPT[0].register_hook("onEvent", lambda event, ctx: None)

    assert loaded.registrations.hooks == []


CONFIG = """
    from pydantic import BaseModel, SecretStr

    class Config(BaseModel):
        days: int = 3
        key: SecretStr = SecretStr("")

    def register(ctx):
        ctx.register_skill("seen-%s" % ctx.config.days, ".")
"""


def test_settings_are_validated_by_the_plugins_own_config(plugin: Plugin) -> None:
    loaded = loading.load(plugin(CONFIG), {"days": 5, "on_error": "pass"})

    assert (loaded.error, loaded.warnings) == (None, ())
    assert loaded.registrations is not None
    assert loaded.registrations.skills[0].name == "seen-5"


def test_wrong_settings_are_an_error_that_names_each_key_and_shows_no_value(plugin: Plugin) -> None:
    loaded = loading.load(plugin(CONFIG), {"days": "hunter2", "key": 5})

    assert loaded.error == (
        "plugin noted: [plugins.settings.noted] days: Input should be a valid integer, unable to parse string as an"
        " integer; key: Input should be a valid string"
    )


def test_a_setting_that_the_plugin_does_not_know_is_a_warning(plugin: Plugin) -> None:
    assert loading.load(plugin(CONFIG), {"day": 5}).warnings == (
        "[plugins.settings.noted] day is not known to the plugin and has no effect; did you mean 'days'?",
    )


def test_without_a_config_the_settings_are_a_mapping_without_prlooms_own_keys(plugin: Plugin) -> None:
    found = plugin("""
        def register(ctx):
            assert dict(ctx.config) == {"colour": "red"}, ctx.config
    """)

    assert loading.load(found, {"colour": "red", "on_error": "pass"}).error is None


def test_a_config_that_is_no_pydantic_model_is_a_warning(plugin: Plugin) -> None:
    found = plugin("class Config: pass\ndef register(ctx): pass")

    assert loading.load(found, {}).warnings == (
        "plugin noted: its Config is not a pydantic model, so its settings are not checked",
    )


def test_a_promise_of_the_manifest_that_is_not_kept_is_a_warning(plugin: Plugin) -> None:
    promised = Manifest(
        name="noted", provides_hooks=("on_event", "zzz"), provides_commands=("/note",), provides_tools=("t",)
    )
    found = msgspec.structs.replace(plugin("def register(ctx): pass"), manifest=promised)

    assert loading.load(found, {}).warnings == (
        "plugin noted: its manifest lists the hook 'onEvent', but the plugin did not register it",
        "plugin noted: its manifest lists the command 'note', but the plugin did not register it",
        "plugin noted: its manifest lists the tool 't', but the plugin did not register it",
    )


def test_a_plugin_that_was_found_with_an_error_is_not_executed(plugin: Plugin) -> None:
    found = msgspec.structs.replace(plugin("raise SystemExit"), error="the manifest is bad")

    assert loading.load(found, {}).error == "plugin noted could not be loaded: the manifest is bad"


@pytest.mark.parametrize("value", ["acme_tools.plugin", "acme_tools.plugin:register", "acme_tools:plugin"])
def test_an_installed_plugin_is_loaded_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    (tmp_path / "acme_tools").mkdir()
    (tmp_path / "acme_tools" / "__init__.py").write_text("from . import plugin")
    (tmp_path / "acme_tools" / "plugin.py").write_text(
        "def register(ctx): ctx.register_hook('onEvent', lambda event, ctx: None)"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    found = DiscoveredPlugin(key="acme", source="installed", entry_point=value)

    loaded = loading.load(found, {})
    for name in [name for name in sys.modules if name.startswith("acme_tools")]:
        del sys.modules[name]

    assert loaded.error is None
    assert loaded.registrations is not None
    assert len(loaded.registrations.hooks) == 1


def test_an_installed_plugin_that_fails_is_not_left_half_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme_broken.py").write_text("def register(ctx): raise ValueError('no')")
    monkeypatch.syspath_prepend(str(tmp_path))

    loaded = loading.load(DiscoveredPlugin(key="acme", source="installed", entry_point="acme_broken"), {})

    assert loaded.error == "plugin acme could not be loaded: ValueError: no"
    assert "acme_broken" not in sys.modules
