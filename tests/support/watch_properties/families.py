"""The families that are watched, as their writers and watchers know them."""

from typing import Protocol

import grpc.aio
from quorate.builtin.kv.families import PAIRS
from quorate.builtin.resource.plugin import RESOURCES
from quorate.plugin import keys
from quorate.plugin.advanced import Stub
from quorate.v1 import kv_pb2, resource_pb2, watch_pb2

from tests.support.reach import CALL_S


class Family(Protocol):
    """A family of one shard, as its writers and its watchers know it."""

    @property
    def name(self) -> str:
        """The name by which it is watched."""

    @property
    def keeps_previous(self) -> bool:
        """Whether its events hold the value before."""

    @property
    def most_rows(self) -> int:
        """How many rows one command writes at the most."""

    async def write(
        self, channel: grpc.aio.Channel, rows: dict[str, bytes | None], known: dict[str, int]
    ) -> int | None:
        """Write rows by one command, those that are deleted at the revision that is known.

        Returns the revision; None when the service does not tell it.
        """

    def key(self, name: str) -> bytes:
        """Return the key of the row that is written by a name."""

    def value(self, row: bytes) -> bytes:
        """Return what was written into a row."""

    def created(self, event: watch_pb2.WatchEvent) -> bool | None:
        """Tell whether an event says that a row is new; None when it says neither."""


class Pairs:
    """kv.pairs, written by transactions."""

    name = PAIRS
    keeps_previous = False
    most_rows = 3

    async def write(
        self, channel: grpc.aio.Channel, rows: dict[str, bytes | None], known: dict[str, int]
    ) -> int | None:
        """Commit them all at once."""
        commit = kv_pb2.CommitPairs()
        for name, value in rows.items():
            operation = commit.operations.add()
            if value is None:
                operation.delete.key = self.key(name)
                operation.delete.expected_revision = known[name]
            else:
                operation.put.key, operation.put.value = self.key(name), value
        reply = await Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"]).Commit(
            commit, timeout=CALL_S
        )
        return int(reply.revision)

    def key(self, name: str) -> bytes:
        """A key is its name."""
        return name.encode()

    def value(self, row: bytes) -> bytes:
        """Return the pair's value."""
        return kv_pb2.Pair.FromString(row).value

    def created(self, event: watch_pb2.WatchEvent) -> bool | None:
        """A pair came into being at the revision that it says."""
        if event.kind == watch_pb2.WatchEvent.DELETED:
            return None
        return kv_pb2.Pair.FromString(event.value).created_revision == event.revision


class Resources:
    """resource.resources, which keeps the values before; written one at a time."""

    name = RESOURCES.family
    keeps_previous = True
    most_rows = 1

    async def write(
        self, channel: grpc.aio.Channel, rows: dict[str, bytes | None], known: dict[str, int]
    ) -> int | None:
        """Write the only one of them."""
        stub = Stub(channel, resource_pb2.DESCRIPTOR.services_by_name["ResourceService"])
        [(name, value)] = rows.items()
        if value is None:
            delete = resource_pb2.DeleteResource(path=name, expected_revision=known[name])
            await stub.Delete(delete, timeout=CALL_S)
            return None
        put = resource_pb2.PutResource(path=name, value=value)
        return int((await stub.Put(put, timeout=CALL_S)).revision)

    def key(self, name: str) -> bytes:
        """A key is a packed path."""
        return keys.pack(name)

    def value(self, row: bytes) -> bytes:
        """Return the resource's value."""
        return resource_pb2.Resource.FromString(row).value

    def created(self, event: watch_pb2.WatchEvent) -> bool | None:
        """The kind says it."""
        if event.kind == watch_pb2.WatchEvent.DELETED:
            return None
        return event.kind == watch_pb2.WatchEvent.CREATED
