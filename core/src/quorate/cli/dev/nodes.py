"""The nodes of `quorate dev`: a file, a log and data each, in one directory."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from quorate.cli.failures import (
    ExitCode,
    Failure,
    failure,
    not_installed,
    of_configuration,
    problem,
    usage,
)
from quorate.config import ConfigError, load, split_address
from quorate.config.members import HTTP_PORT_DISTANCE

if TYPE_CHECKING:
    from quorate.config import PluginModels

DEFAULT_DIRECTORY: Final = Path("quorate-dev")
DEFAULT_NODES: Final = 3
DEFAULT_PORT: Final = 7401
#: Beyond it a node's gRPC port would be another one's HTTP port.
MOST_NODES: Final = HTTP_PORT_DISTANCE

_HOST: Final = "127.0.0.1"
_HEADER: Final = """\
# `quorate dev` sets the names, the ports, the directory, the members and the enabled plugins here
# whenever it starts. Every other setting that you add is kept.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevNode:
    """A node of the cluster, and where all that belongs to it is."""

    name: str
    address: str
    http_address: str
    config: Path
    log: Path
    #: The authority of its certificate; None: it serves without TLS.
    ca: Path | None = None


@contextmanager
def claimed(directory: Path) -> Iterator[None]:
    """Make the directory if it is not there, and keep other `quorate dev` out of it."""
    directory.mkdir(parents=True, exist_ok=True)
    held = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise failure(
                f"another `quorate dev` runs in {directory}", "stop it first, or name another --dir"
            ) from None
        yield
    finally:
        os.close(held)


def prepare(
    directory: Path,
    *,
    nodes: int | None,
    port: int | None,
    enabled: Sequence[str],
    models: PluginModels,
    tls: bool = False,
) -> list[DevNode]:
    """Bring the files of the nodes up to date, and return the nodes in their order.

    What is not said is as the directory has it, or else the default. Raises `Failure`.
    """
    kept_nodes, kept_port = _kept(directory)
    count = nodes or kept_nodes
    if count != kept_nodes and (directory / "node1").exists():
        raise usage(
            f"{directory} holds a cluster of {kept_nodes} nodes, and {count} were asked for",
            f"omit --nodes, name another --dir, or remove {directory} with all its data",
        )
    first = port or kept_port
    last = first + count - 1 + HTTP_PORT_DISTANCE
    if last > 65_535:
        raise usage(f"the last HTTP port would be {last}, beyond 65535", "choose a smaller --port")
    members = {f"node{number + 1}": f"{_HOST}:{first + number}" for number in range(count)}
    certificates = directory.absolute() / "certs"
    if tls:
        _certify(certificates, members)
    for name in members:
        _write(directory, name, members, enabled, certificates if tls else None)
    return [_loaded(directory, name, models) for name in members]


def demand_free_ports(nodes: Sequence[DevNode]) -> None:
    """Fail with every port that something else listens on."""
    busy = [
        problem(
            f"{address}, for {use} of {node.name}, is in use",
            "stop what listens there (another `quorate dev`?), or choose another --port",
        )
        for node in nodes
        for use, address in (("gRPC", node.address), ("HTTP", node.http_address))
        if _is_busy(address)
    ]
    if busy:
        raise Failure(ExitCode.FAILED, busy)


def _kept(directory: Path) -> tuple[int, int]:
    """Return nodes and port as the first node's file says; the defaults of an empty directory."""
    file = directory / "node1.toml"
    if not file.exists():
        if any(directory.iterdir()):
            raise usage(
                f"{directory} contains files that are not a cluster of `quorate dev`",
                "name an empty directory, or a new one, with --dir",
            )
        return DEFAULT_NODES, DEFAULT_PORT
    document = _parsed(file)
    try:
        return len(document["cluster"]["initial_members"]), int(document["node"]["port"])
    except (KeyError, TypeError, ValueError):
        raise failure(
            f"{file} names no node.port or no cluster.initial_members",
            f"repair it, or name another --dir, or remove {directory} with all its data",
            ExitCode.CONFIGURATION,
        ) from None


def _certify(directory: Path, names: Iterable[str]) -> None:
    """Make the authority and the pair of each name, unless they exist."""
    try:
        from quorate.cli.authority import make_authority, sign
    except ModuleNotFoundError as error:
        raise not_installed(error, "TLS") from error
    if not (directory / "ca.pem").exists():
        make_authority(directory)
    for name in names:
        if not (directory / f"{name}.pem").exists():
            sign(directory, name, [name, "localhost", _HOST])
    if not (directory / "client.pem").exists():
        sign(directory, "client", ["client"], serves=False)


def _write(
    directory: Path,
    name: str,
    members: Mapping[str, str],
    enabled: Sequence[str],
    certificates: Path | None,
) -> None:
    file = directory / f"{name}.toml"
    document = _parsed(file) if file.exists() else tomlkit.parse(_HEADER)
    retired = document.get("plugins", {}).get("retired", ())
    port, place = split_address(members[name])[1], str(directory.absolute() / name)
    sections: dict[str, dict[str, Any]] = {
        "node": {"name": name, "port": port, "dir": place},
        "cluster": {"initial_members": dict(members)},
        "plugins": {"enabled": [each for each in enabled if each not in retired]},
    }
    if certificates is not None:
        files = {"cert_file": f"{name}.pem", "key_file": f"{name}.key", "ca_file": "ca.pem"}
        sections["tls"] = {key: str(certificates / each) for key, each in files.items()}
    for section, values in sections.items():
        document.setdefault(section, tomlkit.table()).update(values)
    file.write_text(tomlkit.dumps(document), encoding="utf-8")


def _parsed(file: Path) -> Any:
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8"))
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise failure(
            f"{file} is not TOML: {error}", "repair it", ExitCode.CONFIGURATION
        ) from error


def _loaded(directory: Path, name: str, models: PluginModels) -> DevNode:
    file = directory / f"{name}.toml"
    try:
        settings = load(file, models, {})
    except ConfigError as error:
        raise of_configuration(error) from error
    return DevNode(
        name=name,
        address=settings.node.address,
        http_address=settings.node.http_address,
        config=file,
        log=directory / f"{name}.log",
        ca=settings.tls.ca_file if settings.tls.enabled else None,
    )


def _is_busy(address: str) -> bool:
    try:
        socket.create_server(split_address(address)).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False
