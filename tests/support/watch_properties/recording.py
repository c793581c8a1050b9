"""Writers and watchers of a family, on nodes that come and go; both note what they are told."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import grpc.aio
from quorate.plugin.advanced import Stub
from quorate.shards.watching.tokens import WatchToken
from quorate.testing.waiting import PATIENCE_S
from quorate.v1 import watch_pb2

from tests.support.reach import LOOK_S, Node, Reach, may_have_happened
from tests.support.watch_properties.families import Family
from tests.support.watch_properties.seen import Change, Listed, Part, Response, Write

#: After so many responses at the most, a watcher goes elsewhere.
_MOST_RESPONSES: Final = 60
#: Rows of one writer.
_ROWS: Final = 8

_EVENT: Final = watch_pb2.WatchEvent


class Writer:
    """Writes and deletes rows of its own, until as many commands were acknowledged as wanted."""

    def __init__(self, reach: Reach, family: Family, number: int, *, seed: int) -> None:
        self._reach: Final = reach
        self._family: Final = family
        self._number: Final = number
        self._name: Final = f"watched-{seed}/{number}"
        self._rng: Final = random.Random(f"{seed}/{number}")
        #: The revisions of the rows that are there.
        self._known: Final[dict[str, int]] = {}
        #: Counts the sets of rows: one whose state is not known is left for a new one.
        self._set = 0
        self.writes: Final[list[Write]] = []
        self.acknowledged = 0

    async def run(self, commands: int) -> None:
        """Write, whatever happens to the nodes."""
        while self.acknowledged < commands:
            node = self._reach.choose(self._number, self._rng)
            if node is None:
                await asyncio.sleep(LOOK_S)
                continue
            rows = self._rows()
            try:
                revision = await self._family.write(node.channel, rows, self._known)
            except grpc.aio.AioRpcError as error:
                self._reach.shun(self._number, node)
                if may_have_happened(error):
                    self._note(rows, None)
                    self._known.clear()
                    self._set += 1
                continue
            self.acknowledged += 1
            self._note(rows, revision)
            for name, value in rows.items():
                if value is None:
                    del self._known[name]
                else:
                    self._known[name] = revision or 0

    def _rows(self) -> dict[str, bytes | None]:
        """Choose what is written; a row is deleted only when it is surely there."""
        names = [f"{self._name}.{self._set}/{row}" for row in range(_ROWS)]
        chosen = self._rng.sample(names, self._rng.randint(1, self._family.most_rows))
        value = f"{self.acknowledged}.{len(self.writes)}".encode()
        return {
            name: None if name in self._known and self._rng.random() < 0.3 else value
            for name in chosen
        }

    def _note(self, rows: dict[str, bytes | None], revision: int | None) -> None:
        keyed = {self._family.key(name): value for name, value in rows.items()}
        self.writes.append(Write(rows=keyed, revision=revision))


@dataclass(slots=True)
class _Call:
    """What one call of a watcher has given so far."""

    begun_at: int | None
    rows: list[Listed] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)


class Watcher:
    """Follows a family from node to node, by tokens; `run` goes on until it is cancelled.

    It also goes elsewhere when nothing comes for `silence_s`: its node may be cut off.
    """

    def __init__(
        self,
        reach: Reach,
        family: Family,
        number: int,
        *,
        seed: int,
        prefix: bytes = b"",
        silence_s: float = 1.0,
    ) -> None:
        self._reach: Final = reach
        self._family: Final = family
        self._number: Final = number
        self._prefix: Final = prefix
        self._silence_s: Final = silence_s
        self._rng: Final = random.Random(f"{seed}/watcher/{number}")
        self._token = b""
        self._calls: Final[list[_Call]] = []
        #: How often it was told to list again.
        self.resyncs = 0

    @property
    def parts(self) -> list[Part]:
        """What it was given, call by call."""
        return [
            Part(
                begun_at=call.begun_at,
                prefix=self._prefix,
                rows=tuple(call.rows),
                responses=call.responses,
            )
            for call in self._calls
        ]

    async def came_to_the_end_of(self, writes: Sequence[Write]) -> None:
        """Wait until its token stands behind the last of them that it is given."""
        revision = max(
            (
                write.revision
                for write in writes
                if write.revision is not None
                and any(key.startswith(self._prefix) for key in write.rows)
            ),
            default=0,
        )
        await self.came_to(revision)

    async def came_to(self, revision: int) -> None:
        """Wait until its token stands behind a revision, whatever of it is given."""
        async with asyncio.timeout(PATIENCE_S):
            while not self._token or _position(self._token) < revision:
                await asyncio.sleep(LOOK_S)

    async def run(self) -> None:
        """Follow, and go elsewhere after some responses, a silence, or an end of the call."""
        while True:
            node = self._reach.choose(self._number, self._rng)
            if node is None:
                await asyncio.sleep(LOOK_S)
                continue
            try:
                await self._follow(node, self._rng.randint(1, _MOST_RESPONSES))
            except grpc.aio.AioRpcError as error:
                self._reach.shun(self._number, node)
                may_have_happened(error)
            except TimeoutError:
                self._reach.shun(self._number, node)

    async def _follow(self, node: Node, responses: int) -> None:
        call = _Call(_position(self._token) if self._token else None)
        self._calls.append(call)
        watched = watch_pb2.WatchedFamily(name=self._family.name, prefix=self._prefix)
        request = watch_pb2.WatchRequest(families=[watched], token=self._token)
        stream = Stub(node.channel, watch_pb2.DESCRIPTOR.services_by_name["WatchService"]).Watch(
            request
        )
        try:
            for _ in range(responses):
                async with asyncio.timeout(self._silence_s):
                    response = await stream.read()
                if not isinstance(response, watch_pb2.WatchResponse):
                    # The end of the stream.
                    return
                if response.HasField("resync"):
                    self.resyncs += 1
                    self._token = b""
                    return
                self._take(call, response)
        finally:
            stream.cancel()

    def _take(self, call: _Call, response: watch_pb2.WatchResponse) -> None:
        changes: list[Change] = []
        for event in response.events:
            if event.kind == _EVENT.ROW:
                value = self._family.value(event.value)
                call.rows.append(Listed(revision=event.revision, key=event.key, value=value))
            else:
                changes.append(self._change(event))
        if response.token:
            self._token = response.token
        position = _position(response.token) if response.token else None
        call.responses.append(Response(changes=tuple(changes), position=position))

    def _change(self, event: watch_pb2.WatchEvent) -> Change:
        deleted = event.kind == _EVENT.DELETED
        return Change(
            revision=event.revision,
            key=event.key,
            value=None if deleted else self._family.value(event.value),
            created=self._family.created(event),
            previous=self._family.value(event.previous) if event.previous else None,
        )


def _position(token: bytes) -> int:
    """Return the revision that a token of one shard stands behind."""
    [revision] = WatchToken.decode(token).revisions.values()
    return revision
