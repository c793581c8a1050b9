from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from quorate.cli import new_plugin, protos

if TYPE_CHECKING:
    from core.tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("core", "wanted"),
    [
        ("0.1.0", ">=0.1,<0.2"),
        ("0.1.7", ">=0.1,<0.2"),
        ("0.2.0.dev0", ">=0.2.0.dev0,<0.3"),
        ("0.2.0rc1", ">=0.2.0rc1,<0.3"),
        ("1.0.0", ">=1.0,<1.1"),
    ],
)
def test_a_plugin_is_made_for_one_minor_of_core(core: str, wanted: str) -> None:
    assert new_plugin.range_of(Version(core)) == wanted
    assert SpecifierSet(wanted).contains(core, prereleases=True)


def test_an_existing_folder_is_left_alone(run: Run) -> None:
    Path("notes").mkdir()

    ran = run("plugin", "new", "notes")

    assert ran.code == 1
    assert ran.err == "error: notes already exists; name another folder or plugin\n"
    assert list(Path("notes").iterdir()) == []


def test_without_the_compiler_nothing_is_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(protos, "version", missing)

    ran = run("plugin", "new", "notes")

    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "quorate[dev]" in ran.err
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("compiler")
def test_a_folder_that_cannot_be_written_is_named(run: Run) -> None:
    Path("file").write_text("")

    ran = run("plugin", "new", "notes", "file/below")

    assert ran.code == 1
    assert "cannot be written" in ran.err


@pytest.mark.usefixtures("compiler")
def test_a_failed_rendering_leaves_nothing_behind(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(protos, "generate", fail)

    ran = run("plugin", "new", "notes")

    assert ran.code == 1
    assert "No space left on device" in ran.err
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("compiler")
def test_a_new_plugin_is_sound_and_passes_its_tests(run: Run, tmp_path: Path) -> None:
    ran = run("plugin", "new", "night_watch", "deep/below", "--output", "json")

    assert ran.code == 0
    folder = Path("deep/below/night_watch")
    written = tomllib.loads((folder / "pyproject.toml").read_text())
    project = written["project"]
    # Without settings of its own, pytest takes those of a repository that it is written into.
    assert written["tool"]["pytest"]["ini_options"]["testpaths"] == ["tests"]
    assert project["name"] == "quorate-night-watch"
    assert project["dependencies"] == [f"quorate{new_plugin.range_of(Version(version('quorate')))}"]
    assert not [path for path in folder.rglob("*") if path.name.endswith(".tmpl")]
    assert run("plugin", "protos", str(folder), "--check").code == 0
    _install(folder, tmp_path)
    python = [sys.executable, "-W", "error", "-P", "-m"]
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path / "site"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }

    def passes(*command: str) -> None:
        done = subprocess.run(
            [*python, *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    passes("pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(folder.resolve()))
    code = "import sys; from quorate.cli.main import main; sys.exit(main(sys.argv[1:]))"
    python = [sys.executable, "-W", "error", "-P", "-c", code]
    passes("plugin", "check", "night_watch")
    passes("night-watch", "notes", "--help")


@pytest.mark.ci
@pytest.mark.skipif(find_spec("mypy") is None, reason="the tox env `proto` runs this test")
def test_a_new_plugin_is_typed(tmp_path: Path) -> None:
    folder = tmp_path / "night_watch"
    new_plugin._render("night_watch", folder)
    # What only the compiler makes is left out.
    missing = ["--allow-subclassing-any", "--disable-error-code=import-not-found"]

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-warn-unused-ignores", *missing],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def _install(folder: Path, tmp_path: Path) -> None:
    """Make the plugin importable as an editable install would, without asking an index."""
    metadata = tmp_path / "site" / "quorate_night_watch-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: quorate-night-watch\nVersion: 0.1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[quorate]\nnight_watch = quorate_night_watch.plugin\n"
    )
    (tmp_path / "site" / "quorate_night_watch").symlink_to(
        (folder / "src" / "quorate_night_watch").resolve()
    )
