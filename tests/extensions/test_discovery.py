from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prloom import bundled
from prloom.api.manifest import Manifest
from prloom.extensions import discovery, loading
from prloom.extensions.discovery import DiscoveredPlugin, PluginPaths

BOOM = "raise SystemExit('executed')\n"


def project(root: Path) -> tuple[DiscoveredPlugin, ...]:
    return discovery.discover(PluginPaths(project=root, installed=False))


def test_a_folder_and_a_single_file_are_plugins(tmp_path: Path, folder: Callable[..., Path]) -> None:
    path = folder("notes", manifest='version = "2"')
    (tmp_path / "ping.py").write_text(BOOM)

    assert project(tmp_path) == (
        DiscoveredPlugin(key="notes", source="project", path=str(path), manifest=Manifest(name="notes", version="2")),
        DiscoveredPlugin(key="ping", source="project", path=str(tmp_path / "ping.py"), manifest=Manifest(name="ping")),
    )


def test_the_manifest_names_the_plugin(tmp_path: Path, folder: Callable[..., Path]) -> None:
    folder("quiet_period", manifest='name = "quiet-period"')

    assert [found.key for found in project(tmp_path)] == ["quiet-period"]


def test_a_folder_without_manifest_and_code_is_a_category(tmp_path: Path, folder: Callable[..., Path]) -> None:
    folder("image/openai")
    folder("image/free/local")
    (tmp_path / "image" / "tiny.py").write_text(BOOM)

    assert [found.key for found in project(tmp_path)] == ["image/free/local", "image/openai", "image/tiny"]


def test_hidden_and_private_entries_are_passed_over(tmp_path: Path, folder: Callable[..., Path]) -> None:
    folder(".git/hooks")
    folder("_shared")
    folder("__pycache__")
    (tmp_path / "_tool.py").write_text(BOOM)
    (tmp_path / "README.md").write_text("read me")

    assert project(tmp_path) == ()


def test_a_loop_of_links_ends(tmp_path: Path, folder: Callable[..., Path]) -> None:
    folder("image/openai")
    (tmp_path / "image" / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")

    assert [found.key for found in project(tmp_path)] == ["image/openai"]


def test_a_linked_plugin_is_found(tmp_path: Path, folder: Callable[..., Path]) -> None:
    real = folder("elsewhere/notes")
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "linked").symlink_to(real)

    assert [found.key for found in project(tmp_path / "plugins")] == ["linked"]


def test_a_bad_manifest_is_that_plugins_error_and_nobody_elses(tmp_path: Path, folder: Callable[..., Path]) -> None:
    bad = folder("bad", manifest="name = ")
    folder("good")

    found = project(tmp_path)

    assert [(plugin.key, plugin.error is None) for plugin in found] == [("bad", False), ("good", True)]
    assert str(found[0].error).startswith(f"{bad / 'plugin.toml'} cannot be read as toml: ")


def test_code_without_a_manifest_is_an_error_that_says_what_to_add(tmp_path: Path, folder: Callable[..., Path]) -> None:
    path = folder("notes", manifest=None)

    assert project(tmp_path)[0].error == f"{path} has no manifest; add a plugin.toml (it may be empty)"


def test_a_manifest_without_code_is_an_error_that_says_what_to_add(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "plugin.toml").touch()

    assert project(tmp_path)[0].error == (
        f"{tmp_path / 'notes'}: there is no __init__.py; add one with `def register(ctx):`"
    )


def test_a_manifest_that_declares_executables_needs_no_code(tmp_path: Path) -> None:
    (tmp_path / "deploys").mkdir()
    (tmp_path / "deploys" / "plugin.yaml").write_text(
        "name: deploys\ntools:\n  - {name: latest-deploy, type: executable, command: ./latest.sh}\n"
    )

    (found,) = project(tmp_path)

    loaded = loading.load(found, {})
    assert (found.error, loaded.error) == (None, None)
    assert loaded.registrations is not None


def test_a_name_that_cannot_be_a_key_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a b.py").touch()

    assert "the name 'a b' cannot be used" in str(project(tmp_path)[0].error)


def test_a_folder_that_cannot_be_read_is_reported_and_the_others_are_found(
    tmp_path: Path, folder: Callable[..., Path]
) -> None:
    folder("project/good")
    (tmp_path / "user").symlink_to(tmp_path / "user")

    found = discovery.discover(PluginPaths(user=tmp_path / "user", project=tmp_path / "project", installed=False))

    assert [plugin.key for plugin in found] == ["user", "good"]
    assert found[0].error == f"{tmp_path / 'user'} cannot be read: Too many levels of symbolic links"


def test_the_sources_come_in_their_order_whatever_the_keys(tmp_path: Path, folder: Callable[..., Path]) -> None:
    for name in ("bundled/z", "user/y", "user/a", "project/x", "project/z"):
        folder(name)
    places = PluginPaths(tmp_path / "bundled", tmp_path / "user", tmp_path / "project", installed=False)

    assert [(plugin.source, plugin.key) for plugin in discovery.discover(places)] == [
        ("bundled", "z"),
        ("user", "a"),
        ("user", "y"),
        ("project", "x"),
        ("project", "z"),
    ]


def test_an_installed_package_offers_plugins_by_entry_points_and_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "acme_plugin-3.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-plugin\nVersion: 3.1\n")
    (metadata / "entry_points.txt").write_text(
        "[prloom.plugins]\nacme = acme_plugin:register\nbad name = acme_plugin\n"
    )
    (tmp_path / "acme_plugin.py").write_text(BOOM)
    monkeypatch.syspath_prepend(str(tmp_path))

    found = {plugin.key: plugin for plugin in discovery.discover(PluginPaths())}

    assert found["acme"] == DiscoveredPlugin(
        key="acme",
        source="installed",
        entry_point="acme_plugin:register",
        manifest=Manifest(name="acme", version="3.1"),
    )
    assert "cannot be used" in str(found["bad name"].error)


def test_the_user_folder_is_prloom_home_or_the_platforms(tmp_path: Path) -> None:
    assert discovery.plugin_paths(tmp_path, {"PRLOOM_HOME": "/h"}).user == Path("/h/plugins")
    usual = discovery.plugin_paths(tmp_path, {"PRLOOM_HOME": ""}).user
    assert usual is not None
    assert usual.parts[-2:] == ("prloom", "plugins")


def test_project_plugins_are_those_of_the_checkout_that_prloom_was_started_in(tmp_path: Path) -> None:
    assert discovery.plugin_paths(tmp_path, {}).project == tmp_path / "prloom" / "plugins"


def test_bundled_plugins_are_found_beside_the_package() -> None:
    folder = bundled.folder("plugins")

    assert folder is not None
    assert folder.name == "plugins"
    assert (folder / "memory").is_dir()


def test_a_missing_folder_holds_no_plugins(tmp_path: Path) -> None:
    assert project(tmp_path / "absent") == ()
