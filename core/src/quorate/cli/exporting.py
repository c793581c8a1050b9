"""`quorate protos`: the services of core and plugins for brokers in other languages."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor

from quorate.cli.failures import ExitCode, failure, failures
from quorate.cli.options import DIRECTORY, flag
from quorate.cli.terminal import Terminal
from quorate.v1 import admin_pb2, command_pb2, view_pb2, watch_pb2

if TYPE_CHECKING:
    from quorate.plugin.declared import Declared

#: The services of every node, regardless of its plugins.
_CORE: Final = (admin_pb2, command_pb2, view_pb2, watch_pb2)
#: Every protobuf compiler brings these.
_COMPILERS_OWN: Final = "google/protobuf/"


@click.group("protos")
def command() -> None:
    """Export the .proto files of the services."""


@command.command("export")
@click.argument("folder", metavar="DIR", type=DIRECTORY)
@flag("--force", "Overwrite files that differ.")
@click.pass_obj
def export(terminal: Terminal, folder: Path, force: bool) -> None:
    """Copy the .proto files of core and of every sound plugin into DIR, with all they import.

    DIR is then an import path for the protobuf compiler of any language. The files that
    compilers bring themselves, google/protobuf/*.proto, are left out.
    """
    terminal.warn_of_broken()
    sources = sources_of(terminal.plugins.sound)
    stale = {
        name: content
        for name, content in sources.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != content
    }
    differing = [folder / name for name in stale if (folder / name).exists()]
    if differing and not force:
        fix = "give --force to overwrite it"
        raise failures((f"{path} already exists and differs", fix) for path in differing)
    for name, content in stale.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    terminal.print(
        {"file": name, "state": "written" if name in stale else "up to date"} for name in sources
    )


def sources_of(plugins: Iterable[Declared]) -> Mapping[str, bytes]:
    """Return the files of all services, public commands and rows, with their imports.

    They stand in the order of their names, which are their paths as they import each other.
    Raises `Failure` for a file that its distribution does not bring.
    """
    found: dict[str, FileDescriptor] = {}
    for file in [*(each.DESCRIPTOR for each in _CORE), *_declaring(plugins)]:
        _take(file, found)
    return {name: proto_source(name) for name in sorted(found)}


def _declaring(plugins: Iterable[Declared]) -> Iterator[FileDescriptor]:
    pool = descriptor_pool.Default()
    for plugin in plugins:
        names = [service.full_name for service in plugin.services]
        messages = [each.message for each in plugin.commands if each.public]
        messages += [family.row for family in plugin.families if family.row is not None]
        names += [message.DESCRIPTOR.full_name for message in messages]
        yield from map(pool.FindFileContainingSymbol, names)


def _take(file: FileDescriptor, found: dict[str, FileDescriptor]) -> None:
    if file.name in found or file.name.startswith(_COMPILERS_OWN):
        return
    found[file.name] = file
    for imported in file.dependencies:
        _take(imported, found)


def proto_source(name: str) -> bytes:
    """Read the `.proto` file that lies beside the generated module."""
    module = name.removesuffix(".proto").replace("/", ".").replace("-", "_") + "_pb2"
    try:
        place = importlib.import_module(module).__file__ or ""
        return Path(place).with_name(Path(name).name).read_bytes()
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise failure(
            f"{name} is not beside its generated module: {error}",
            "install a distribution that brings its .proto files, or leave the plugin out",
            ExitCode.PLUGIN,
        ) from error
