"""Most nodes end, and the disk of one is full: what is left must not call itself ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import urlopen

from quorate.testing.cluster import Cluster
from quorate.testing.cluster.node_process import NodeProcess
from quorate.testing.waiting import until

from tests.abuse.attack import Attack, Broken, Target

_ANSWER_S: Final = 10.0
_LOGGED: Final = "no majority of their nodes is heard of in shards metadata/0"


def _full(node: NodeProcess) -> Path:
    """Return the file that stands for a full disk."""
    return node.directory.with_suffix(".full")


def _prepare(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        node.failpoint = f"disk.measured=full:{_full(node)}"


def _get(node: NodeProcess, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://{node.http_address}{path}", timeout=_ANSWER_S) as answer:
            return answer.status, str(answer.read(), "utf-8")
    except HTTPError as error:
        return error.code, error.read().decode()


def _signs(node: NodeProcess) -> tuple[bool, bool, bool]:
    """Return what /readyz, the health service and the metric say."""
    metric = "\nquorate_node_ready 1.0" in _get(node, "/metrics?names=quorate_node_ready")[1]
    return _get(node, "/readyz")[0] == 200, node.is_ready, metric


def _demand(node: NodeProcess, what: str, ready: bool) -> None:
    def agreed() -> bool | None:
        return True if set(_signs(node)) == {ready} else None

    try:
        until(agreed)
    except TimeoutError:
        told = ", ".join(map(str, _signs(node)))
        raise Broken(f"{what}: /readyz, health and quorate_node_ready say {told}") from None
    if _get(node, "/livez")[0] != 200:
        raise Broken(f"{what}: /livez is not 200, so that the node would be started again")


def _attack(cluster: Cluster) -> str:
    left, *others = cluster.nodes.values()
    _full(left).touch()
    _demand(left, "a full disk", ready=False)
    why = _get(left, "/readyz")[1].strip()
    _full(left).unlink()
    _demand(left, "a disk with room again", ready=True)
    for node in others:
        node.kill()
    _demand(left, "two of three nodes have ended", ready=False)
    why += " / " + _get(left, "/readyz")[1].strip()
    _until(lambda: _LOGGED in left.said, "nothing is logged of the lost majority")
    for node in others:
        node.start()
    cluster.ready()
    _demand(left, "the others are back", ready=True)
    return why


def _until(holds: Callable[[], bool], otherwise: str) -> None:
    try:
        until(lambda: holds() or None)
    except TimeoutError:
        raise Broken(otherwise) from None


async def run(target: Target) -> str:
    """Fill a disk, and then end the others."""
    assert target.cluster is not None
    return await asyncio.to_thread(_attack, target.cluster)


ATTACK = Attack(run=run, prepare=_prepare, own_cluster=True)
