"""What lists the distributions of the workspace lists all of them, and no other."""

from __future__ import annotations

import re
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from quorate.cli.new_plugin import range_of

from tests.support.workspace import ROOT, distributions

ALL = distributions()
#: What users install, and a change log tells them of.
SHIPPED = [each for each in ALL if each.kind != "examples"]


def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def ini(file: str, section: str, option: str) -> set[str]:
    parsed = ConfigParser(interpolation=None)
    parsed.read_string(text_of(file))
    return {each.strip(",") for each in parsed[section][option].split()}


def differences(file: str, listed: set[str], wanted: set[str]) -> list[str]:
    """Say which lines a file lacks, and which it has for nothing."""
    return [
        *(f"{file}: add {each}" for each in sorted(wanted - listed)),
        *(f"{file}: remove {each}" for each in sorted(listed - wanted)),
    ]


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ({"a", "b"}, []),
        ({"a"}, ["x.ini: add b"]),
        ({"a", "b", "c"}, ["x.ini: remove c"]),
    ],
)
def test_differences_name_the_lines(listed: set[str], said: list[str]) -> None:
    assert differences("x.ini", listed, {"a", "b"}) == said


def test_a_folder_with_sources_is_a_distribution() -> None:
    sources = {path.parents[2].relative_to(ROOT).as_posix() for path in packages()}
    assert sources == {each.folder for each in ALL}
    assert {"core", "plugins/mqtt", "examples/greeting"} <= sources


def packages() -> list[Path]:
    return [*ROOT.glob("*/src/*/__init__.py"), *ROOT.glob("*/*/src/*/__init__.py")]


def test_their_versions() -> None:
    [version] = {each.version for each in ALL}
    wanted = SpecifierSet(range_of(Version(version)))
    names = {each.name for each in ALL}
    for each in ALL:
        project = tomllib.loads(text_of(f"{each.folder}/pyproject.toml"))["project"]
        extras = project.get("optional-dependencies", {})
        for text in [
            *project["dependencies"],
            *(text for extra in extras.values() for text in extra),
        ]:
            asked = Requirement(text)
            # What has extras comes with one that has none.
            if asked.name in names and not asked.extras:
                assert asked.specifier == wanted, f"{each.folder}/pyproject.toml: {text}"


def test_their_requirements() -> None:
    file = "requirements/plugins.txt"
    listed = set(re.findall(r"^-e \./([\w/]+)", text_of(file), re.MULTILINE))
    wanted = {each.folder for each in ALL if each.kind in {"examples", "plugins"}}
    assert differences(file, listed, wanted) == []


def test_their_tests() -> None:
    # tox runs the tests of a whole folder; an integration has packages of its own to install.
    [line] = re.findall(r'^ +quick: .+"not ci and not full" (.+)}$', text_of("tox.ini"), re.M)
    assert {each.kind for each in ALL} == {"integrations", *line.split()} - {"tests"}
    integrations = {each.folder for each in ALL if each.kind == "integrations"}
    installed = set(re.findall(r"^ +ci: -e \./(\S+)$", text_of("tox.ini"), re.MULTILINE))
    tested = set(
        re.findall(r"^ +ci: python -m pytest .* (integrations/\w+)$", text_of("tox.ini"), re.M)
    )
    assert differences("tox.ini", installed, integrations) == []
    assert differences("tox.ini", tested, integrations) == []


def test_their_types() -> None:
    listed = ini("mypy.ini", "mypy", "mypy_path")
    wanted = {f"$MYPY_CONFIG_FILE_DIR/{each.folder}/src" for each in ALL}
    others = {"$MYPY_CONFIG_FILE_DIR/benchmarks", "$MYPY_CONFIG_FILE_DIR/stubs"}
    assert differences("mypy.ini", listed - others, wanted) == []
    files = ini("mypy.ini", "mypy", "files")
    assert (
        differences(
            "mypy.ini",
            {each.partition("/")[0] for each in files},
            {each.kind for each in ALL} | {"benchmarks", "conftest.py", "tests"},
        )
        == []
    )


def test_their_imports() -> None:
    # The contracts take all roots by a wildcard.
    assert ini(".importlinter", "importlinter:contract:core", "forbidden_modules") == {"*"}
    assert ini(".importlinter", "importlinter:contract:plugins", "source_modules") == {"*"}
    listed = ini(".importlinter", "importlinter", "root_packages")
    assert differences(".importlinter", listed - {"tests"}, {each.package for each in ALL}) == []


def test_their_change_log() -> None:
    sections = tomllib.loads(text_of("towncrier.toml"))["tool"]["towncrier"]["section"]
    listed = {f"{each['name']} in {each['path']}" for each in sections}
    wanted = {
        f"{each.name} in {each.name.removeprefix('quorate-') if each.kind != 'core' else 'core'}"
        for each in SHIPPED
    }
    assert differences("towncrier.toml", listed, wanted) == []


def test_fragments_lie_where_towncrier_looks() -> None:
    # Of another folder it says nothing.
    sections = tomllib.loads(text_of("towncrier.toml"))["tool"]["towncrier"]["section"]
    folders = {each.name for each in (ROOT / "changelog.d").iterdir() if each.is_dir()}
    assert folders <= {each["path"] for each in sections}


def test_the_readme() -> None:
    listed = set(re.findall(r"\./((?:plugins|integrations)/\w+)", text_of("README.md")))
    assert differences("README.md", listed, {each.folder for each in SHIPPED} - {"core"}) == []
