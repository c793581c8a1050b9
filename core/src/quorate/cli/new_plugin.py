"""Writes the distribution of a new plugin from the template in this package."""

import keyword
import re
import tempfile
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Final

from packaging.version import Version

from quorate.cli import protos
from quorate.cli.failures import failure, usage
from quorate.plugin.checks import HOST_CLI_COMMANDS
from quorate.plugin.discovery import RESERVED_NAMES, installed
from quorate.plugin.markers import PROJECT

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_TEMPLATE: Final = Path(__file__).with_name("template")
_SUFFIX: Final = ".tmpl"
#: The folder of the template that gets the name of the plugin's package.
_PACKAGE: Final = "package"


def write_plugin(name: str, folder: Path) -> list[Path]:
    """Write a plugin of that name into a folder below `folder`, and return its files.

    The folder appears complete or not at all.
    """
    _check_name(name)
    if not str(folder).isprintable():
        # The generator prints the names of its files.
        raise failure("the folder has a name that cannot be printed", "name another folder")
    target = folder / name
    if target.exists() or target.is_symlink():
        raise failure(f"{target} already exists", "name another folder or plugin")
    protos.demand_generator()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as temporary:
            draft = Path(temporary, name)
            _render(name, draft)
            source = protos.source_of(draft)
            generated = protos.generate(source)
            protos.write(source, generated)
            protos.accept(source, generated)
            draft.rename(target)
    except OSError as error:
        raise failure(
            f"{error.filename or folder} cannot be written: {error.strerror or error}",
            "name a folder that this user can write to",
        ) from error
    return sorted(path for path in target.rglob("*") if path.is_file())


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise usage(
            f"{name!r} is not a valid plugin name",
            "use small letters, digits and single underscores, as in storage_engine",
        )
    built_in = (each.name for each in installed() if each.built_in)
    taken = RESERVED_NAMES.union(HOST_CLI_COMMANDS, built_in)
    if name in taken:
        raise usage(
            f"the name {name!r} is taken by {PROJECT} itself",
            f"choose a name other than {', '.join(sorted(taken))}",
        )


def range_of(release: Version) -> str:
    """Return the releases of core that a plugin of today is made for: those of one minor."""
    # A version before its release is lower than the minor that it leads to.
    floor = release if release.is_prerelease else f"{release.major}.{release.minor}"
    return f">={floor},<{release.major}.{release.minor + 1}"


def _render(name: str, draft: Path) -> None:
    package = f"{PROJECT}_{name}"
    values = {
        "name": name,
        "command": name.replace("_", "-"),
        "title": "".join(word.capitalize() for word in name.split("_")),
        "package": package,
        "distribution": package.replace("_", "-"),
        "core": range_of(Version(version(PROJECT))),
    }
    for source in _TEMPLATE.rglob(f"*{_SUFFIX}"):
        parts = source.relative_to(_TEMPLATE).with_suffix("").parts
        path = draft.joinpath(*(package if part == _PACKAGE else part for part in parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        text = Template(source.read_text(encoding="utf-8")).substitute(values)
        path.write_text(text, encoding="utf-8")
