"""The commands of the installed plugins, remembered: help and completion import no plugin.

They are kept in a file of the user's cache, under a digest of the sources that they come from, so
that what was installed, edited or removed is seen. With a broken plugin nothing is kept: what it
lacks may come from anywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from quorate.cli.installed import InstalledPlugins

#: The group of the plugins' entry points.
_GROUP: Final = "quorate"


class KnownCommand(NamedTuple):
    """A command of a plugin: whose it is, and what it does."""

    plugin: str
    help: str


@dataclass(frozen=True, slots=True)
class KnownPlugins:
    """What help and completion tell of the installed plugins."""

    commands: Mapping[str, KnownCommand]
    #: Former command lines, each with the present one.
    former: Mapping[str, str] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()


def known(find: Callable[[], InstalledPlugins]) -> KnownPlugins:
    """Return the commands of sound plugins, by `find` where nothing that holds is remembered."""
    file, digest = _file(), _digest()
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["digest"] == digest:
            of = {name: KnownCommand(*each) for name, each in kept["of"].items()}
            return KnownPlugins(of, kept["former"])
    found = told(find())
    if not found.broken:
        # Without a place to write the next call asks the plugins again.
        with suppress(OSError):
            told_of = {"digest": digest, "of": found.commands, "former": found.former}
            _keep(file, json.dumps(told_of))
    return found


def told(plugins: InstalledPlugins) -> KnownPlugins:
    """Return the commands of these plugins."""
    commands = {
        name: KnownCommand(plugin.plugin.name, declared.help)
        for name, (plugin, declared) in plugins.cli_commands().items()
    }
    found = (declared for _, declared in plugins.cli_commands().values())
    former = {words: now for each in found for words, now in each.former.items()}
    return KnownPlugins(commands, former, plugins.broken)


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return Path(cache or "~/.cache").expanduser() / "quorate" / "commands.json"


def _keep(file: Path, text: str) -> None:
    """Write the file whole, or leave the one before: many commands may do so at a time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(f".{os.getpid()}")
    written.write_text(text, encoding="utf-8")
    written.replace(file)


def _digest() -> str:
    """Return what changes with every entry point, and with every source of their packages."""
    points = sorted(entry_points(group=_GROUP), key=lambda each: (each.name, each.value))
    digest = hashlib.sha256()
    for point in points:
        digest.update(f"{point.name}={point.value} {_release(point)}\n".encode())
    for package in sorted({point.module.partition(".")[0] for point in points}):
        for source, changed, size in _sources(package):
            digest.update(f"{source} {changed} {size}\n".encode())
    return digest.hexdigest()


def _release(point: EntryPoint) -> str:
    return "" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _sources(package: str) -> Iterator[tuple[str, int, int]]:
    """Yield the Python files of a package with their times and sizes, without importing it."""
    with suppress(ImportError, ValueError):
        spec = find_spec(package)
        if spec is None:
            return
        for place in sorted(spec.submodule_search_locations or ()):
            yield from _within(place)
        if spec.origin is not None and spec.submodule_search_locations is None:
            about = os.stat(spec.origin)
            yield spec.origin, about.st_mtime_ns, about.st_size


def _within(place: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _within(entry.path)
            elif entry.name.endswith(".py"):
                about = entry.stat()
                yield entry.path, about.st_mtime_ns, about.st_size
