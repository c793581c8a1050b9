"""The numbers by which clients know a cluster and its members, and the headers of answers."""

from __future__ import annotations

import asyncio
from functools import cached_property
from hashlib import blake2b
from typing import Final

from quorate.plugin import NodeApi

from quorate_etcd import families
from quorate_etcd.wire import rpc_pb2 as rpc


def number_of(name: bytes) -> int:
    """Return a number for a name, which is the same on every node and never 0."""
    # Some clients take it for a signed one, and show a negative number.
    return (int.from_bytes(blake2b(name, digest_size=8).digest()) >> 1) or 1


def member_id(node: str) -> int:
    """Return the number of a node."""
    return number_of(node.encode())


class Identity:
    """This node as a member of the cluster of a store."""

    def __init__(self, node: NodeApi, store: str) -> None:
        self.store: Final = store
        self._node: Final = node
        self._key: Final = families.store_key(store)
        self._term = 1
        #: Whether the term was looked up in this turn of the loop.
        self._is_new = False
        self.member_id: Final = member_id(node.cluster().node)

    @cached_property
    def cluster_id(self) -> int:
        """The number of the cluster, another one for each store."""
        return number_of(self._node.cluster().cluster + self._key)

    @property
    def term(self) -> int:
        """The term of the store's shard; it never falls on a node.

        It is looked up once for all answers of one turn of the loop.
        """
        if not self._is_new:
            self._is_new = True
            asyncio.get_running_loop().call_soon(self._expire)
            self._term = max(self._term, self._node.shard(families.GROUP, self._key).term)
        return self._term

    def _expire(self) -> None:
        self._is_new = False

    @property
    def leader(self) -> str:
        """The node that leads the store's shard; empty: none is known."""
        return self._node.shard(families.GROUP, self._key).leader

    def header(self, revision: int = 0) -> rpc.ResponseHeader:
        """Return the header of an answer."""
        return rpc.ResponseHeader(
            cluster_id=self.cluster_id,
            member_id=self.member_id,
            revision=revision,
            raft_term=self.term,
        )
