"""An older copy of a member's own directory is put back, and its replicas know less than before."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.cluster.node_process import NodeProcess
from quorate.testing.waiting import until

from tests.abuse.attack import Attack, Broken, Target

_WRITES: Final = 20
#: The words by which a node says what it found.
_SAYS: Final = "an older copy"


def _replica(node: NodeProcess) -> str:
    return (node.directory / "replica").read_text()


def _write(cluster: Cluster, numbers: Iterable[int], nodes: Iterable[NodeProcess]) -> None:
    with Client(",".join(node.address for node in nodes), exactly_once=True) as client:
        for number in numbers:
            client.kv.put(f"abuse/{number}", b"%d" % number)


def _lost(cluster: Cluster, written: int) -> int:
    """Return how many of the acknowledged writes are gone."""
    with Client(cluster.endpoints, timeout_s=60) as client:
        return [client.kv.get(f"abuse/{number}") for number in range(written)].count(None)


def _put_back(node: NodeProcess, copy: Path) -> None:
    shutil.rmtree(node.directory)
    shutil.copytree(copy, node.directory)


def _replaced(node: NodeProcess, before: str) -> None:
    """Wait until a node is ready as another replica; raises `Broken` if it is as the same."""

    def is_new() -> bool | None:
        return True if _replica(node) != before and node.is_ready else None

    try:
        until(is_new)
    except TimeoutError:
        raise Broken(
            f"{node.name} goes on as the replica {before} with an older copy of its directory, and"
            f" says {'nothing' if _SAYS not in node.said else 'so in its log alone'}"
        ) from None


def _hot(cluster: Cluster) -> None:
    """Put back a copy that was made while the node ran; who leads knows what it acknowledged."""
    victim = cluster.followers()[0]
    before, copy = _replica(victim), victim.directory.with_suffix(".hot")
    victim.pause()
    shutil.copytree(victim.directory, copy)
    victim.resume()
    _write(cluster, range(_WRITES), cluster.nodes.values())
    written = _applied(cluster.leader())
    until(lambda: _applied(victim) >= written or None)
    victim.kill()
    _put_back(victim, copy)
    victim.start()
    _replaced(victim, before)


def _cold(cluster: Cluster) -> None:
    """Put back a copy from before the last start; the only ones that run may have missed writes."""
    victim, witness = cluster.followers()[:2]
    [leader] = [node for node in cluster.nodes.values() if node not in (victim, witness)]
    before, copy = _replica(victim), victim.directory.with_suffix(".cold")
    victim.stop()
    shutil.copytree(victim.directory, copy)
    victim.start()
    cluster.ready()
    witness.stop()
    _write(cluster, range(_WRITES, 2 * _WRITES), (leader, victim))
    victim.kill()
    leader.kill()
    _put_back(victim, copy)
    victim.start()
    witness.start()
    until(lambda: _SAYS in victim.said or _leads(witness) or _leads(victim) or None)
    if _leads(witness) or _leads(victim):
        lost = _lost_at(witness, victim)
        raise Broken(
            f"{victim.name} voted with an older copy of its directory, and {lost} of {_WRITES}"
            " writes that it had acknowledged are gone"
        )
    leader.start()
    _replaced(victim, before)


def _lost_at(*nodes: NodeProcess) -> int:
    with Client(",".join(node.address for node in nodes), timeout_s=30) as client:
        keys = [f"abuse/{number}" for number in range(_WRITES, 2 * _WRITES)]
        return [client.kv.get(key) for key in keys].count(None)


def _leads(node: NodeProcess) -> bool:
    report = node.report()
    return report is not None and any(each.role == "leader" for each in report.shards)


def _applied(node: NodeProcess) -> int:
    """Return how much a node has applied, over all shards."""
    report = until(node.report)
    return sum(each.applied_index for each in report.shards)


def _attack(cluster: Cluster) -> str:
    _hot(cluster)
    _cold(cluster)
    lost = _lost(cluster, 2 * _WRITES)
    if lost:
        raise Broken(f"{lost} of {2 * _WRITES} acknowledged writes are gone")
    return f"two older copies were found and replaced, and all {2 * _WRITES} writes are there"


async def run(target: Target) -> str:
    """Put back a copy that was made while the node ran, and one from before its last start."""
    assert target.cluster is not None
    return await asyncio.to_thread(_attack, target.cluster)


ATTACK = Attack(run=run, own_cluster=True)
