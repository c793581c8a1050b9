"""The members of the cluster: the nodes that serve a store, and where."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from ssl import SSLContext
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from quorate.plugin import NodeApi, Reader, Txn

from quorate_etcd import errors
from quorate_etcd.auth.rows import MEMBERS, named_key
from quorate_etcd.families import end_of, store_key
from quorate_etcd.serving.identity import Identity, member_id
from quorate_etcd.v1 import cluster_pb2 as pb
from quorate_etcd.wire import rpc_pb2 as rpc

_log = logging.getLogger(__name__)

#: Nodes of a cluster that are looked at.
_MOST: Final = 10_000
#: Intervals between two attempts to write the row of this node.
_AGAIN_S: Final = 1.0
_EVERYWHERE: Final = ("", "0.0.0.0", "::")
_MANAGED: Final = errors.Refusal(
    "FAILED_PRECONDITION",
    f"{errors.PREFIX}not capable: nodes join and leave a cluster of Quorate by `quorate member "
    "add` and `quorate member remove`",
)


def announce(txn: Txn, command: pb.Announce) -> pb.Announced:
    """Write where a node serves a store, unless the row says so already."""
    key = named_key(command.store, command.member.node)
    row = command.member.SerializeToString()
    if txn.get(MEMBERS, key) != row:
        txn.put(MEMBERS, key, row)
    return pb.Announced()


def find_members(reader: Reader, query: pb.FindMembers) -> Iterable[pb.Members]:
    """Answer the nodes that serve a store."""
    start = store_key(query.store)
    found = reader.scan(MEMBERS, start, end_of(start), limit=_MOST)
    yield pb.Members(members=[pb.Member.FromString(row.value) for row in found])


def url_of(node: NodeApi, host: str, port: int, tls: SSLContext | None) -> str:
    """Return the URL at which clients reach a port of this node."""
    if host in _EVERYWHERE:
        cluster = node.cluster()
        host = cluster.addresses[cluster.node].rpartition(":")[0].strip("[]")
    name = f"[{host}]" if ":" in host else host
    return f"{'http' if tls is None else 'https'}://{name}:{port}"


async def announce_forever(node: NodeApi, store: str, url: str) -> None:
    """Write where this node serves a store as soon as the store can be written."""
    cluster = node.cluster()
    peer_url = f"http://{cluster.addresses.get(cluster.node, cluster.node)}"
    member = pb.Member(node=cluster.node, client_urls=[url], peer_urls=[peer_url])
    command = pb.Announce(store=store, member=member)
    while True:
        try:
            await node.propose(command, pb.Announced)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may pass
            _log.debug("cannot announce the URLs of etcd's clients yet: %s", error)
            await asyncio.sleep(_AGAIN_S)
        else:
            return


class Cluster:
    """Lists the members of a store's cluster; they are changed by Quorate's own commands."""

    def __init__(self, node: NodeApi, identity: Identity) -> None:
        self._node: Final = node
        self._identity: Final = identity

    async def all(self, *, linearizable: bool = True) -> list[rpc.Member]:
        """Return the members that belong to the cluster."""
        found = await self._node.read(
            pb.FindMembers(store=self._identity.store),
            pb.Members,
            consistency="linearizable" if linearizable else "stale",
        )
        known = self._node.cluster().addresses
        return sorted(
            (
                rpc.Member(
                    ID=member_id(each.node),
                    name=each.node,
                    peerURLs=each.peer_urls,
                    clientURLs=each.client_urls,
                )
                for answer in found.rows
                for each in answer.members
                if each.node in known
            ),
            key=lambda member: member.ID,
        )

    async def of(self, number: int) -> rpc.Member | None:
        """Return the member of a number."""
        return next((each for each in await self.all() if number == each.ID), None)

    async def MemberList(self, request: rpc.MemberListRequest, _: Any) -> rpc.MemberListResponse:
        """Return the members with the URLs that they serve clients at."""
        members = await self.all(linearizable=request.linearizable)
        return rpc.MemberListResponse(header=self._identity.header(), members=members)

    async def MemberAdd(self, request: rpc.MemberAddRequest, _: Any) -> NoReturn:
        """Refuse: a node joins by another command."""
        _demand_urls(request.peerURLs)
        known = {url for each in await self.all() for url in each.peerURLs}
        if known & set(request.peerURLs):
            errors.PEER_URL_EXISTS.refuse()
        _MANAGED.refuse()

    async def MemberRemove(self, request: rpc.MemberRemoveRequest, _: Any) -> NoReturn:
        """Refuse: a node leaves by another command."""
        await self._demand(request.ID)
        _MANAGED.refuse()

    async def MemberUpdate(self, request: rpc.MemberUpdateRequest, _: Any) -> NoReturn:
        """Refuse: the address of a node is in its configuration."""
        _demand_urls(request.peerURLs)
        await self._demand(request.ID)
        _MANAGED.refuse()

    async def MemberPromote(self, request: rpc.MemberPromoteRequest, _: Any) -> NoReturn:
        """Refuse: a learner becomes a voter by itself."""
        await self._demand(request.ID)
        errors.NOT_A_LEARNER.refuse()

    async def _demand(self, number: int) -> None:
        if await self.of(number) is None:
            errors.MEMBER_NOT_FOUND.refuse()


def _demand_urls(urls: Iterable[str]) -> None:
    given = list(urls)
    if not given or not all(map(_is_valid, given)):
        errors.BAD_MEMBER_URLS.refuse()


def _is_valid(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.port) and not parts.path
    except ValueError:
        return False
