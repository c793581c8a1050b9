"""A healthy member is replaced by itself, and by nobody; then one that lost its disk is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Final
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
import tomlkit
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.testing.cluster.node_process import NodeProcess
from quorate.testing.ports import free_ports
from quorate.testing.waiting import until
from quorate.v1.kv_pb2 import GetPairRequest

from tests.abuse.attack import Attack, Broken, Target

_COMMAND_S: Final = 60.0
_ANSWER_S: Final = 10.0


def _replace(cluster: Cluster, node: str, address: str, *options: str) -> tuple[int, str]:
    """Run the command as an operator without a terminal; return its exit code and its words."""
    command = [sys.executable, "-m", "quorate.cli", "--endpoints", cluster.endpoints]
    command += ["member", "replace", node, address, *options]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=_COMMAND_S, stdin=subprocess.DEVNULL
    )
    if "No such option" in ran.stderr:
        return _replace(cluster, node, address)
    return ran.returncode, (ran.stdout + ran.stderr).strip()


def _is_ready(node: NodeProcess) -> bool:
    try:
        with urlopen(f"http://{node.http_address}/readyz", timeout=_ANSWER_S):
            return True
    except HTTPError:
        return False


def _refuses(node: NodeProcess) -> str:
    """Return why a node refuses a client's call; empty: it takes it."""
    with node.channel() as channel:
        ask = channel.unary_unary(
            "/quorate.v1.KvService/Get", GetPairRequest.SerializeToString, lambda answer: answer
        )
        try:
            ask(GetPairRequest(key=b"abuse"), timeout=_ANSWER_S)
        except grpc.RpcError as error:
            return str(error)
    return ""


def _is_member(cluster: Cluster, node: str) -> bool:
    with Client(cluster.endpoints) as client:
        return node in {each.node for each in client.topology().nodes}


def _demand_kept(cluster: Cluster, node: NodeProcess, done: str, code: int, said: str) -> None:
    """Raise `Broken` unless a node is the member that it was, and serves."""
    if code == 0 or not _is_member(cluster, node.name) or not node.runs or _refuses(node):
        ready = "ready" if node.runs and _is_ready(node) else "not ready"
        raise Broken(
            f"{node.name} was replaced by {done}: the command ends with {code} and says"
            f" {said.splitlines()[-1] if said else 'nothing'!r}; the node says that it is {ready},"
            f" and refuses calls: {_refuses(node) if node.runs else 'it has ended'!r}"
        )


def _emptied(node: NodeProcess) -> None:
    """Start a node anew with an empty directory, to be taken in."""
    node.kill()
    node.wipe()
    file = tomlkit.parse(node.file.read_text())
    section = file["cluster"].unwrap()
    others = section.pop("initial_members")
    del others[node.name]
    file["cluster"] = {**section, "join": others}
    node.file.write_text(tomlkit.dumps(file))
    node.start()
    until(lambda: "waiting to be added" in node.said or None)


def _attack(cluster: Cluster) -> str:
    victim = cluster.followers()[0]
    nowhere = f"127.0.0.1:{free_ports(0)[0]}"
    for done, address in (("nobody", nowhere), ("itself", victim.address)):
        code, said = _replace(cluster, victim.name, address, "--yes")
        _demand_kept(cluster, victim, done, code, said)
    _emptied(victim)
    if _is_ready(victim):
        raise Broken(f"{victim.name} says that it is ready while it waits to be added")
    code, planned = _replace(cluster, victim.name, victim.address, "--dry-run")
    if code or _is_ready(victim):
        raise Broken(f"the plan fails, or does something: {planned}")
    code, said = _replace(cluster, victim.name, victim.address, "--yes")
    if code:
        raise Broken(f"a node that lost its disk is not replaced: {said}")
    victim.ready()
    return f"a healthy node was kept twice, and replaced once its disk was lost; plan: {planned!r}"


async def run(target: Target) -> str:
    """Replace what must not be replaced, and then what has to be."""
    assert target.cluster is not None
    return await asyncio.to_thread(_attack, target.cluster)


ATTACK = Attack(run=run, own_cluster=True)
