"""The directory of another cluster lies in the place of a member's, and clients write to it."""

from __future__ import annotations

import asyncio
import shutil
from typing import Final
from urllib.error import HTTPError
from urllib.request import urlopen

from quorate.client import Client, QuorateError
from quorate.testing.cluster import Cluster
from quorate.testing.cluster.node_process import NodeProcess
from quorate.testing.waiting import until

from tests.abuse.attack import Attack, Broken, Target

_WRITES: Final = 12
_ANSWER_S: Final = 10.0
#: The words by which a node says why it waits.
_SAYS: Final = "another cluster"


def _founded_elsewhere(cluster: Cluster, victim: NodeProcess) -> None:
    """Put the directory of a cluster that a node of the same name founded in the place of its."""
    with Cluster(victim.directory.parent / "elsewhere", 1) as other:
        [founder] = other.ready().nodes.values()
        founder.stop()
        victim.directory.rename(victim.directory.with_suffix(".own"))
        shutil.copytree(founder.directory, victim.directory)


def _waits_for(victim: NodeProcess) -> str:
    """Return what the node says of itself once it is ready, has ended, or says why it is not."""

    def told() -> str | None:
        if not victim.runs:
            return f"it ended: {victim.said.splitlines()[-1]}"
        try:
            with urlopen(f"http://{victim.http_address}/readyz", timeout=_ANSWER_S) as answer:
                return str(answer.read(), "utf-8").strip()
        except HTTPError as error:
            text = error.read().decode().strip()
            return text if _SAYS in text else None
        except OSError:
            return None

    return until(told)


def _is_written(endpoints: str, number: int, timeout_s: float) -> bool:
    with Client(endpoints, timeout_s=timeout_s) as client:
        try:
            client.kv.put(f"abuse/{number}", b"%d" % number)
        except QuorateError:
            return False
        return True


def _attack(cluster: Cluster) -> str:
    victim, *others = cluster.nodes.values()
    for number in range(_WRITES):
        _is_written(cluster.endpoints, number, _ANSWER_S)
    victim.stop()
    _founded_elsewhere(cluster, victim)
    victim.start()
    told = _waits_for(victim)
    # One that is sent to the node alone may come to the others by what the node says of them.
    sent = [(victim.address, number, 1.0) for number in range(_WRITES, 2 * _WRITES)]
    sent += [(cluster.endpoints, number, 20.0) for number in range(2 * _WRITES, 3 * _WRITES)]
    written = [number for endpoints, number, s in sent if _is_written(endpoints, number, s)]
    with Client(",".join(node.address for node in others)) as client:
        lost = [number for number in written if client.kv.get(f"abuse/{number}") is None]
    if told == "ready" or lost:
        raise Broken(
            f"the node says {told!r}, and {len(lost)} of {len(written)} acknowledged writes are"
            " only there"
        )
    if not {number for _, number, _ in sent[_WRITES:]} <= {*written}:
        raise Broken(f"only {len(written)} of {len(sent)} writes succeeded beside the node")
    if victim.runs:
        victim.stop()
    shutil.rmtree(victim.directory)
    victim.directory.with_suffix(".own").rename(victim.directory)
    victim.start()
    victim.ready()
    return f"{told!r}; none of {len(written)} acknowledged writes was there alone"


async def run(target: Target) -> str:
    """Swap the directory, and write by clients that do not know of it."""
    assert target.cluster is not None
    return await asyncio.to_thread(_attack, target.cluster)


ATTACK = Attack(run=run, own_cluster=True)
