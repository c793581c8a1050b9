"""Derives the settings of a machine's workers from those of its node."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quorate.config.addresses import join_address, split_address
from quorate.config.members import AUTO, MOST_WORKERS
from quorate.config.settings import Settings
from quorate.config.validation import ConfigError, ConfigProblem

_LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One of the processes of a machine, each a member of the cluster."""

    #: Those of a node that stands alone.
    settings: Settings
    #: The port at which all workers of the machine serve clients.
    client_port: int

    @property
    def name(self) -> str:
        """Its name in the cluster."""
        return self.settings.node.name


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0))


def worker_name(node: str, number: int) -> str:
    """Return the name of a worker; workers are numbered from 1."""
    return f"{node}.{number}"


def workers_of(
    settings: Settings, file: Path | None = None, available: int | None = None
) -> tuple[Worker, ...]:
    """Return the workers of a node; a node of a single process has none.

    Worker 2 of q1 is q1.2: each of its ports is the node's plus 2, its directory has its name
    and lies in the node's, and it gets an equal part of the memory. Raises `ConfigError`.
    """
    node = settings.node
    count = (cores() if available is None else available) if node.workers == AUTO else node.workers
    assert isinstance(count, int)
    if node.workers == 1:
        return ()
    problems = list(_problems(settings, min(count, MOST_WORKERS)))
    if problems:
        shown = None if file is None else str(file)
        raise ConfigError(
            ConfigProblem(file=shown, key=key, what=what, fix=fix) for key, what, fix in problems
        )
    numbers = range(1, min(count, MOST_WORKERS) + 1)
    return tuple(_worker(settings, number, len(numbers)) for number in numbers)


def _worker(settings: Settings, number: int, count: int) -> Worker:
    node, storage, audit = settings.node, settings.storage, settings.audit
    name = worker_name(node.name, number)
    own = {
        "name": name,
        "port": node.port + number,
        "http_port": node.http_port + number,
        "peer_port": node.peer_port and node.peer_port + number,
        "dir": node.dir / name,
        "machine": node.machine or node.name,
        "workers": 1,
    }
    memory = {
        "block_cache_bytes": max(1, storage.block_cache_bytes // count),
        "write_buffer_bytes": max(1, storage.write_buffer_bytes // count),
    }
    record = audit.file and audit.file.with_name(f"{audit.file.stem}-{name}{audit.file.suffix}")
    members = settings.cluster.initial_members
    if not settings.cluster.join:
        members = _members(members or {node.name: node.address}, count)
    return Worker(
        settings=settings.model_copy(
            update={
                "node": node.model_copy(update=own),
                "cluster": settings.cluster.model_copy(update={"initial_members": members}),
                "storage": storage.model_copy(update=memory),
                "audit": audit.model_copy(update={"file": record}),
            }
        ),
        client_port=node.port,
    )


def _members(machines: Mapping[str, str], count: int) -> Mapping[str, str]:
    """Return the address of each worker on all machines, which have the same number of them."""
    found: dict[str, str] = {}
    for name, address in machines.items():
        host, port = split_address(address)
        for number in range(1, count + 1):
            found[worker_name(name, number)] = join_address(host, port + number)
    return found


def _problems(settings: Settings, count: int) -> Iterator[tuple[str, str, str]]:
    """Yield key, mistake and remedy of each setting that rules out the workers of a node."""
    node = settings.node
    if count < 2:
        yield (
            "node.workers",
            "auto finds one core that this process may use",
            "leave workers out: one process uses it whole",
        )
        return
    ports = {"port": node.port, "http_port": node.http_port, "peer_port": node.peer_port}
    taken: dict[int, str] = {}
    for key, first in ports.items():
        if not first:
            continue
        if first + count > _LAST_PORT:
            yield (
                f"node.{key}",
                f"the last of {count} workers would have the port {first + count}, beyond 65535",
                f"choose one up to {_LAST_PORT - count}",
            )
        for port in range(first, first + count + 1):
            other = taken.setdefault(port, key)
            if other != key:
                yield (
                    f"node.{key}",
                    f"with {count} workers it takes the ports {first} to {first + count}, and"
                    f" {other} takes {ports[other]} to {ports[other] + count}",
                    f"set {key} and {other} farther apart",
                )
                break
    places: dict[tuple[str, int], str] = {}
    for name, address in settings.cluster.initial_members.items():
        host, first = split_address(address)
        for port in range(first, first + count + 1):
            other = places.setdefault((host, port), name)
            if other != name:
                yield (
                    f"cluster.initial_members.{name}",
                    f"with {count} workers {name} and {other} both have {join_address(host, port)}",
                    f"set their ports at least {count + 1} apart",
                )
                break
        if first + count > _LAST_PORT:
            yield (
                f"cluster.initial_members.{name}",
                f"the last of its {count} workers would have the port {first + count}",
                f"choose a port up to {_LAST_PORT - count}",
            )
