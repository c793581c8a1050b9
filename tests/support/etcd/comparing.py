"""Runs one script against two servers, and compares what they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from google.protobuf import text_format
from google.protobuf.message import Message
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

from tests.support.etcd.peers import Peer, Refused, Watched
from tests.support.etcd.scripts import Script, Step

#: A stock server looks ten times a second after watches that begin in the past, and says nothing
#: when it finds no events for one. It cancels those that a compaction overtakes before.
_LOOK_S: Final = 0.3
#: The watch that sees every change, from the first revision on.
_OBSERVER: Final = 1


class Expected:
    """Counts the events that a watch gets, as far as the observer has seen them."""

    def __init__(self, start: int, request: rpc.WatchCreateRequest) -> None:
        self._start: Final = start
        self._request: Final = request
        self._seen = self._count = 0

    def count(self, observed: Sequence[mvcc.Event]) -> int:
        """Return how many of all events it gets."""
        for event in observed[self._seen :]:
            self._count += self._wants(event)
        self._seen = len(observed)
        return self._count

    def _wants(self, event: mvcc.Event) -> bool:
        key, end = event.kv.key, self._request.range_end
        first = self._request.key or b"\0"
        within = key == first if not end else first <= key and (end == b"\0" or key < end)
        # Filters have the numbers of the types that they leave out.
        left_out = int(event.type) in map(int, self._request.filters)
        return within and event.kv.mod_revision >= self._start and not left_out


class Side:
    """One of the servers."""

    def __init__(self, peer: Peer) -> None:
        self.peer: Final = peer
        self.watching: Final = peer.watching()
        #: What each watch that goes on is to get; None: it began before
        #: the compacted revision, and will be cancelled.
        self.expected: Final[dict[int, Expected | None]] = {}

    async def begin(self) -> None:
        """Begin to observe every change."""
        request = rpc.WatchCreateRequest(
            range_end=b"\0", start_revision=1, watch_id=_OBSERVER, prev_kv=True
        )
        await self.watching.send(create_request=request)
        await self.watching.until(lambda: bool(self._observed.said))

    @property
    def _observed(self) -> Watched:
        return self.watching.of(_OBSERVER)

    async def carry_out(self, step: Step, compacted: int) -> Any:
        """Make a call."""
        if step.service != "watch":
            if step.method == "LeaseKeepAlive":
                return await self.peer.renew(step.request.ID)
            return await self.peer.call(step.service, step.method, step.request)
        watching = self.watching
        if step.method == "Cancel":
            number = step.request.watch_id
            said = watching.of(number).said
            if number not in self.expected:
                # Cancelled by the server before.
                return said[-1]
            await watching.send(cancel_request=step.request)
            await watching.until(lambda: said[-1].canceled)
            del self.expected[number]
            return said[-1]
        return await self._create(step.request, compacted)

    async def _create(self, request: rpc.WatchCreateRequest, compacted: int) -> Message:
        watching, refused = self.watching, self.watching.of(-1).said
        said, before = watching.of(request.watch_id).said, len(refused)
        await watching.send(create_request=request)
        await watching.until(lambda: bool(said) or len(refused) > before)
        if not said:
            return refused[-1]
        start = request.start_revision or said[0].header.revision + 1
        self.expected[request.watch_id] = None if start < compacted else Expected(start, request)
        return said[0]

    async def settle(self, revision: int) -> None:
        """Wait until every watch was told of everything up to a revision."""

        def observed() -> bool:
            events = self._observed.events
            return revision == 1 or (bool(events) and events[-1].kv.mod_revision >= revision)

        await self.watching.until(observed)
        for number, expected in list(self.expected.items()):
            said = self.watching.of(number)
            if expected is None:
                await self.watching.until(partial(_canceled, said))
                del self.expected[number]
            else:
                wanted = expected.count(self._observed.events)
                await self.watching.until(partial(_has, said, wanted))


def _canceled(watched: Watched) -> bool:
    return watched.said[-1].canceled


def _has(watched: Watched, wanted: int) -> bool:
    return len(watched.events) >= wanted


class Comparison:
    """Runs a script against both, and raises `AssertionError` where they differ."""

    def __init__(self, script: Script, ours: Peer, stock: Peer) -> None:
        self._script: Final = script
        self._ours: Final = Side(ours)
        self._stock: Final = Side(stock)
        #: How much of what was said of each watch is the same.
        self._agreed: Final[dict[int, int]] = {}
        #: When the stock server has seen to all watches, on the clock of the loop.
        self._seen_to = 0.0
        #: The last calls, for a message.
        self._log: Final[list[str]] = []

    async def run(self, steps: int) -> None:
        """Make a number of calls, and compare all answers and all events."""
        for side in (self._ours, self._stock):
            await side.begin()
        for _ in range(steps):
            step = self._script.step()
            if step.method in {"Compact", "Create", "Cancel"}:
                await self._settle()
            now = asyncio.get_running_loop().time()
            if step.method == "Compact":
                await asyncio.sleep(self._seen_to - now)
            await self._carry_out(step)
            if step.method == "Create":
                await self._settle()
                if 0 < step.request.start_revision <= self._script.revision:
                    self._seen_to = asyncio.get_running_loop().time() + _LOOK_S
        await self._settle()
        for side in (self._ours, self._stock):
            await side.watching.close()

    async def _carry_out(self, step: Step) -> None:
        said = f"{step.method} {shown(step.request)}"
        self._log.append(said)
        del self._log[:-12]
        ours, stock = await asyncio.gather(
            *(side.carry_out(step, self._script.compacted) for side in (self._ours, self._stock))
        )
        self._compare(normal(ours), normal(stock))
        if isinstance(ours, Refused):
            return
        script = self._script
        revision = ours.header.revision
        script.revision = max(script.revision, revision)
        if step.method == "Compact":
            script.compacted = step.request.revision
        if step.method == "Create" and ours.watch_id >= 0:
            script.numbers.append(step.request.watch_id)

    async def _settle(self) -> None:
        script = self._script
        for side in (self._ours, self._stock):
            await side.settle(script.revision)
        numbers = sorted(set(self._ours.watching.watches) | set(self._stock.watching.watches))
        for number in numbers:
            self._log.append(f"the events of watch {number}")
            both = (self._ours.watching.of(number).lines, self._stock.watching.of(number).lines)
            agreed = self._agreed.get(number, 0)
            ours, stock = ("\n".join(lines[agreed:]) for lines in both)
            self._compare(ours, stock)
            self._agreed[number] = len(both[0])
            del self._log[-1]

    def _compare(self, ours: str, stock: str) -> None:
        assert ours == stock, (
            "\n".join(self._log) + f"\n--- ours\n{ours[-3000:]}\n--- stock\n{stock[-3000:]}"
        )


def shown(request: Message) -> str:
    """Return a request for people, with its longest value cut."""
    return text_format.MessageToString(request, as_one_line=True).replace("4" * 5_000, "4...")[
        :3_000
    ]


def normal(answer: Message | Refused) -> str:
    """Return an answer without what differs between any two servers."""
    if isinstance(answer, Refused):
        return f"{answer.code} {answer.text}"
    copy: Any = type(answer)()
    copy.CopyFrom(answer)
    _strip(copy)
    if isinstance(copy, rpc.LeaseTimeToLiveResponse):
        # Their clocks differ.
        copy.TTL = min(copy.TTL, 0)
        copy.keys.sort()
    if isinstance(copy, rpc.LeaseLeasesResponse):
        copy.leases.sort(key=lambda each: each.ID)
    return text_format.MessageToString(copy)


def _strip(message: Any) -> None:
    header = getattr(message, "header", None)
    if header is not None and message.HasField("header"):
        for name in ("cluster_id", "member_id", "raft_term"):
            header.ClearField(name)
