"""`quorate etcd import` and `export`, between a stock server that is written and a node."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import grpc.aio
import pytest
from quorate.cli.authority import sign
from quorate.client import Tls
from quorate.plugin.advanced import Stub
from quorate_etcd.wire import rpc_pb2 as rpc

from tests.support.etcd import newest, ours, stock
from tests.support.etcd.peers import Peer

#: Any release is copied.
_PROGRAM = stock.PROGRAM or newest.kept()
pytestmark = [
    pytest.mark.ci,
    pytest.mark.timeout(300),
    pytest.mark.skipif(_PROGRAM is None, reason="there is no etcd to copy"),
]
_PAGE = Path(__file__).parents[2] / "docs/how-to/run-etcd-clients.md"
USERS = ("--user", "root:a:b", "--at-user", "root:c")
_ALL = rpc.RangeRequest(key=b"\0", range_end=b"\0")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ours.Ours]:
    with ours.started(tmp_path / "ours") as node:
        yield node


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[stock.Etcd]:
    (tmp_path / "stock").mkdir()
    with stock.Etcd(tmp_path / "stock", _PROGRAM) as etcd:
        yield etcd


def command(node: ours.Ours, *words: str) -> list[str]:
    options = ["--endpoints", node.cluster.endpoints, "--output", "json"]
    if (tls := node.cluster.tls) is not None:
        for name, file in zip(("ca", "cert", "key"), (tls.ca, tls.cert, tls.key), strict=True):
            options += [f"--tls-{name}", str(file)]
    return [sys.executable, "-m", "quorate.cli", *options, "etcd", *words]


def run(node: ours.Ours, *words: str) -> list[dict[str, Any]]:
    done = subprocess.run(command(node, *words), capture_output=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr.decode()
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def documented(verb: str, etcd: stock.Etcd, node: ours.Ours) -> list[str]:
    """Return the words after `quorate etcd` in the how-to, with the addresses of these servers."""
    [line] = re.findall(rf"quorate etcd ({verb} etcd1:2379 [^`\n]+)", _PAGE.read_text())
    line = line.replace("etcd1:2379", f"127.0.0.1:{etcd.port}")
    return str(line.replace("node1:2379", f"127.0.0.1:{node.port}")).split()


async def answer(peer: Peer, service: str, method: str, request: Any) -> Any:
    return await peer.call(service, method, request)


async def pairs(port: int) -> tuple[int, dict[bytes, tuple[bytes, int]]]:
    peer = Peer(port)
    found = await answer(peer, "kv", "Range", _ALL)
    await peer.close()
    return found.header.revision, {each.key: (each.value, each.lease) for each in found.kvs}


class Writing:
    """Changes keys of a server, in transactions of several, with leases that come and go."""

    def __init__(self, port: int, seed: int) -> None:
        self._peer, self._random = Peer(port), Random(seed)
        self._going = True
        self.count = 0

    async def run(self) -> None:
        while self._going:
            await self._step()
            await asyncio.sleep(0.002)
        await self._peer.close()

    async def _step(self) -> None:
        random = self._random
        keys = random.sample(range(300), random.choice((1, 1, 3, 20)))
        lease = random.choice((0, 0, 0, 21, 22, 23))
        if random.random() < 0.05:
            await answer(self._peer, "lease", "LeaseRevoke", rpc.LeaseRevokeRequest(ID=lease))
            return
        if lease:
            grant = rpc.LeaseGrantRequest(ID=lease, TTL=3_600)
            await answer(self._peer, "lease", "LeaseGrant", grant)
        operations = []
        for key in keys:
            name, value = b"/k/%d" % key, b"%d" % random.random().__hash__()
            put = rpc.PutRequest(key=name, value=value, lease=lease)
            deletion = rpc.DeleteRangeRequest(key=name)
            operations.append(
                rpc.RequestOp(request_delete_range=deletion)
                if random.random() < 0.2
                else rpc.RequestOp(request_put=put)
            )
        await answer(self._peer, "kv", "Txn", rpc.TxnRequest(success=operations))
        self.count += 1

    def end(self) -> None:
        self._going = False


@asynccontextmanager
async def written(port: int) -> AsyncIterator[Writing]:
    writing = Writing(port, 1)
    task = asyncio.create_task(writing.run())
    yield writing
    writing.end()
    await task


async def some(port: int, count: int, ttl_s: int = 3_600) -> None:
    peer = Peer(port)
    for at in range(0, count, 100):
        puts = [
            rpc.RequestOp(request_put=rpc.PutRequest(key=b"/p/%06d" % n, value=b"%d" % n))
            for n in range(at, at + 100)
        ]
        await answer(peer, "kv", "Txn", rpc.TxnRequest(success=puts))
    for lease, ttl in ((7, ttl_s), (8, 3_600)):
        await answer(peer, "lease", "LeaseGrant", rpc.LeaseGrantRequest(ID=lease, TTL=ttl))
        put = rpc.PutRequest(key=b"/l/%d" % lease, lease=lease)
        await answer(peer, "kv", "Put", put)
    await peer.close()


async def test_an_import_is_equal_at_the_switch(node: ours.Ours, etcd: stock.Etcd) -> None:
    """With writes going on, until Ctrl-C: nothing is lost, and leases live on."""
    await some(etcd.port, 2_000, ttl_s=3)
    renewing, renewed = Peer(etcd.port), True

    async def renew() -> None:
        while renewed:
            await renewing.renew(7)
            await asyncio.sleep(0.5)

    keeping = asyncio.create_task(renew())
    async with written(etcd.port) as writing:
        program = await asyncio.create_subprocess_exec(
            *command(node, *documented("import", etcd, node)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert program.stderr is not None
        async with asyncio.timeout(100):
            while b"following" not in await program.stderr.readline():
                pass
            until = writing.count + 300
            while writing.count < until:
                await asyncio.sleep(0.05)
    # No more is written: once the lag is 0 the clients are switched.
    revision, wanted = await pairs(etcd.port)
    async with asyncio.timeout(100):
        while (await pairs(node.port))[1] != wanted:
            await asyncio.sleep(0.1)
    program.send_signal(signal.SIGINT)
    out, said = await program.communicate()
    assert program.returncode == 0, said.decode()
    [row] = json.loads(out)
    assert row["revision"] >= revision
    assert row["lag"] == 0
    assert row["followed"] > 300
    renewed = False
    await keeping
    await renewing.close()
    found, pairs_there = await pairs(node.port)
    assert pairs_there[b"/l/8"] == (b"", 8)
    # No client has seen a revision of what is written from now on.
    assert found > revision + (1 << 29)


async def test_until_both_are_equal_and_back(node: ours.Ours, etcd: stock.Etcd) -> None:
    await some(etcd.port, 500)
    peer = Peer(node.port)
    await answer(peer, "kv", "Put", rpc.PutRequest(key=b"/extra"))
    words = (*documented("import", etcd, node), "--until-equal")
    done = await asyncio.to_thread(
        subprocess.run, command(node, *words), capture_output=True, check=False, timeout=200
    )
    assert done.returncode == 1
    assert b"--delete" in done.stderr
    async with written(etcd.port):
        [row] = await asyncio.to_thread(run, node, *words, "--delete")
    assert row["deleted"] >= 1
    assert row["lag"] == 0
    [row] = await asyncio.to_thread(run, node, *words, "--delete")
    assert row["copied"] <= 300
    assert (await pairs(node.port))[1] == (await pairs(etcd.port))[1]
    await answer(peer, "kv", "Put", rpc.PutRequest(key=b"/back", value=b"1"))
    await answer(peer, "kv", "DeleteRange", rpc.DeleteRangeRequest(key=b"/p/", range_end=b"/p0"))
    await peer.close()
    back = (*documented("export", etcd, node), "--until-equal", "--delete")
    [row] = await asyncio.to_thread(run, node, *back)
    assert (row["copied"], row["deleted"]) == (1, 500)
    assert (await pairs(node.port))[1] == (await pairs(etcd.port))[1]
    [shown] = await asyncio.to_thread(run, node, "store", "list")
    assert shown["port"] == node.port
    assert shown["leader"] == shown["node"] == "node1"
    assert 2 <= shown["leases"] <= 5
    assert shown["revision"] > shown["compacted"] > 1 << 30


def test_a_server_that_is_not_there(node: ours.Ours) -> None:
    words = ("import", "127.0.0.1:1", "--at", f"127.0.0.1:{node.port}")
    done = subprocess.run(command(node, *words), capture_output=True, check=False, timeout=200)
    assert done.returncode == 1
    assert b"127.0.0.1:1" in done.stderr
    assert b"Traceback" not in done.stderr


class Secured:
    """A server that asks for certificates and passwords."""

    def __init__(self, port: int, tls: Tls) -> None:
        files = tls.files()
        credentials = grpc.ssl_channel_credentials(*files)
        self._channel = grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials)
        self._services = rpc.DESCRIPTOR.services_by_name
        self._metadata: tuple[tuple[str, str], ...] = ()

    async def call(self, service: str, method: str, request: Any) -> Any:
        stub = Stub(self._channel, self._services[service])
        return await getattr(stub, method)(request, metadata=self._metadata, timeout=60)

    async def ask_for_passwords(self, password: str) -> None:
        user = rpc.AuthUserAddRequest(name="root", password=password)
        await self.call("Auth", "UserAdd", user)
        await self.call("Auth", "RoleAdd", rpc.AuthRoleAddRequest(name="root"))
        grant = rpc.AuthUserGrantRoleRequest(user="root", role="root")
        await self.call("Auth", "UserGrantRole", grant)
        await self.call("Auth", "AuthEnable", rpc.AuthEnableRequest())
        await self.authenticate(password)

    async def authenticate(self, password: str) -> None:
        self._metadata = ()
        request = rpc.AuthenticateRequest(name="root", password=password)
        self._metadata = (("token", (await self.call("Auth", "Authenticate", request)).token),)

    async def close(self) -> None:
        await self._channel.close(None)


async def test_with_certificates_and_users(tmp_path: Path) -> None:
    with ours.started(tmp_path / "ours", tls=True) as node:
        authority = node.cluster.certificates
        sign(authority, "stock", ["127.0.0.1"])
        tls = Tls(
            ca=authority / "ca.pem", cert=authority / "stock.pem", key=authority / "stock.key"
        )
        (tmp_path / "stock").mkdir()
        with stock.Etcd(tmp_path / "stock", _PROGRAM, tls) as etcd:
            assert node.cluster.tls is not None
            theirs, mine = (Secured(port, node.cluster.tls) for port in (etcd.port, node.port))
            try:
                await theirs.ask_for_passwords("a:b")
                await mine.ask_for_passwords("c")
                await _copied_both_ways(theirs, mine, etcd, node)
                await _followed_over_a_restart(theirs, mine, etcd, node)
            finally:
                await theirs.close()
                await mine.close()


def files_of(tls: Tls | None) -> tuple[str, ...]:
    assert tls is not None
    return ("--ca", str(tls.ca), "--cert", str(tls.cert), "--key", str(tls.key))


async def _followed_over_a_restart(
    theirs: Secured, mine: Secured, etcd: stock.Etcd, node: ours.Ours
) -> None:
    """A stock server forgets all tokens when it ends."""
    await theirs.call("Lease", "LeaseGrant", rpc.LeaseGrantRequest(ID=7, TTL=15))
    words = (*documented("import", etcd, node), *files_of(node.cluster.tls), *USERS)
    program = await asyncio.create_subprocess_exec(
        *command(node, *words), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert program.stderr is not None
    async with asyncio.timeout(100):
        while b"following" not in await program.stderr.readline():
            pass
        await asyncio.to_thread(etcd.restart)
        await theirs.authenticate("a:b")
        await theirs.call("KV", "Put", rpc.PutRequest(key=b"/d", value=b"3", lease=7))
        while not (await mine.call("KV", "Range", rpc.RangeRequest(key=b"/d"))).kvs:
            await asyncio.sleep(0.1)
    program.send_signal(signal.SIGINT)
    _, said = await program.communicate()
    assert program.returncode == 0, said.decode()


async def _copied_both_ways(
    theirs: Secured, mine: Secured, etcd: stock.Etcd, node: ours.Ours
) -> None:
    tls, files, users = node.cluster.tls, files_of(node.cluster.tls), USERS
    assert tls is not None
    for key in (b"/a", b"/b"):
        await theirs.call("KV", "Put", rpc.PutRequest(key=key, value=b"1"))
    words = (*documented("import", etcd, node), "--until-equal")
    [row] = await asyncio.to_thread(run, node, *words, *files, *users)
    assert (row["copied"], row["lag"]) == (2, 0)
    assert [each.key for each in (await mine.call("KV", "Range", _ALL)).kvs] == [b"/a", b"/b"]
    await mine.call("KV", "Put", rpc.PutRequest(key=b"/c", value=b"2"))
    words = (*documented("export", etcd, node), "--until-equal")
    [row] = await asyncio.to_thread(run, node, *words, *files, *users)
    assert row["copied"] == 1
    assert len((await theirs.call("KV", "Range", _ALL)).kvs) == 3
    for wrong, text in (
        ((*files, "--user", "root:a:b"), b"permission denied"),
        ((*files, "--user", "root:c", "--at-user", "root:c"), b"authentication failed"),
        (users, b"give --ca"),
        (("--cert", str(tls.cert), *users), b"need --ca"),
        (("--ca", "none.pem", *users), b"none.pem"),
    ):
        said = await asyncio.to_thread(refused, node, *words, *wrong)
        assert text in said, said


def refused(node: ours.Ours, *words: str) -> bytes:
    done = subprocess.run(command(node, *words), capture_output=True, check=False, timeout=200)
    assert done.returncode in (1, 2), done
    assert b"Traceback" not in done.stderr
    return done.stderr
