"""Watches that go on by themselves: over lost connections, changed nodes and lost history."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from quorate.client.calls import Attempts
from quorate.client.connections import Connections
from quorate.client.errors import UnavailableError
from quorate.client.failures import AttemptError
from quorate.client.topology import Topology
from quorate.client.values import Readable
from quorate.v1.kv_pb2 import Pair
from quorate.v1.watch_pb2 import WatchedFamily, WatchEvent, WatchRequest, WatchResponse

_METHOD: Final = "/quorate.v1.WatchService/Watch"


class ChangeKind(StrEnum):
    """The kind of a change."""

    #: A row as it was when the watch began.
    ROW = "row"
    #: A row was written; whether it is new is not known of this family.
    PUT = "put"
    CREATED = "created"
    UPDATED = "updated"
    DELETED = "deleted"
    #: Something happened that is no row: `family` is the full name of its message.
    EMITTED = "emitted"
    #: Something was missed: forget every row, they follow as `ROW`.
    RESYNC = "resync"
    #: All current rows were given; only with `marks`.
    LISTED = "listed"
    #: Nothing happened, and the token has moved on; only with `marks`.
    BOOKMARK = "bookmark"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedChange(Readable):
    """One thing that a watch saw."""

    kind: ChangeKind
    family: str = ""
    key: bytes = b""
    #: The row after it, or the message that was emitted.
    value: bytes = b""
    #: The row before it, of a family that keeps it.
    previous: bytes = b""
    revision: int = 0
    shard: int = 0
    #: The logical time of the command; 0 of a `ROW`.
    at_ms: int = 0
    #: Resumes a watch after this change, or a little before it: what one command changed may come
    #: again. Empty while the current rows are being given.
    token: bytes = b""
    #: Of a `RESYNC`: the reason.
    reason: str = ""


_KINDS: Final = {
    number: ChangeKind[name]
    for name, number in WatchEvent.Kind.items()
    if name in ChangeKind.__members__
}
_MARKS: Final = frozenset({ChangeKind.LISTED, ChangeKind.BOOKMARK})


@dataclass(frozen=True, slots=True)
class Alias:
    """A short name for a family; its rows are shown unwrapped."""

    family: str
    shown: Callable[[WatchedChange], WatchedChange]


def _as_pair(change: WatchedChange) -> WatchedChange:
    """Show the value of a pair in place of its row, and whether the pair is new."""
    pair = Pair.FromString(change.value)
    kind = change.kind
    if kind is ChangeKind.PUT:
        new = pair.created_revision == change.revision
        kind = ChangeKind.CREATED if new else ChangeKind.UPDATED
    previous = Pair.FromString(change.previous).value if change.previous else b""
    return replace(change, kind=kind, value=pair.value, previous=previous)


#: Domains whose rows wrap what their users see.
ALIASES: Final = {"kv": Alias("kv.pairs", _as_pair)}


@dataclass(eq=False)
class Watching:
    """Opens watches on any node."""

    _topology: Topology
    _connections: Connections

    async def watch(
        self,
        names: Sequence[str],
        prefix: bytes,
        token: bytes,
        *,
        changes_only: bool,
        marks: bool,
        shards: Sequence[int] = (),
        until: bytes = b"",
    ) -> AsyncGenerator[WatchedChange, None]:
        """Yield the changes of the families, endlessly or up to the token `until`."""
        shown = {ALIASES[name].family: ALIASES[name].shown for name in names if name in ALIASES}
        wanted = [
            WatchedFamily(name=ALIASES[name].family if name in ALIASES else name, prefix=prefix)
            for name in names
        ]
        course = _Course(token, changes_only)
        attempts = Attempts(self._topology, float("inf"), "read")
        while True:
            address = self._topology.any_address()
            request = WatchRequest(
                families=wanted,
                token=course.token,
                changes_only=course.changes_only,
                shards=shards,
                until=until,
            )
            try:
                responses = self._connections.to(address).stream(
                    _METHOD, request, WatchResponse, None
                )
                async with aclosing(responses):
                    async for response in responses:
                        attempts = Attempts(self._topology, float("inf"), "read")
                        for change in course.changes(response):
                            if marks or change.kind not in _MARKS:
                                show = shown.get(change.family)
                                yield show(change) if show is not None else change
                        if response.HasField("resync"):
                            break
                if until:
                    return
                ended = UnavailableError(f"{address} has ended the watch")
                failure = AttemptError("safe", ended)
            except AttemptError as error:
                failure = error
            missed = course.interrupted()
            if missed is not None:
                yield missed
            await attempts.after(failure, address)


class _Course:
    """How far a watch has come."""

    def __init__(self, token: bytes, changes_only: bool) -> None:
        #: The token to resume from; empty: the beginning.
        self.token = token
        self.changes_only: Final = changes_only
        #: Rows were given, and not yet all of them.
        self._listing = False
        self._listed = bool(token)

    def changes(self, response: WatchResponse) -> list[WatchedChange]:
        changes = [
            WatchedChange(
                kind=_KINDS.get(event.kind, ChangeKind.PUT),
                family=event.name,
                key=event.key,
                value=event.value,
                previous=event.previous,
                revision=event.revision,
                shard=event.shard,
                at_ms=event.at_ms,
                token=self.token,
            )
            for event in response.events
        ]
        if changes and not self.token:
            self._listing = True
        if response.token:
            self.token, self._listing = response.token, False
            if changes:
                changes[-1] = replace(changes[-1], token=self.token)
        if response.listed and not self._listed:
            self._listed = True
            changes.append(WatchedChange(kind=ChangeKind.LISTED, token=self.token))
        elif response.token and not changes:
            changes.append(WatchedChange(kind=ChangeKind.BOOKMARK, token=self.token))
        if response.HasField("resync"):
            changes.append(self._restart(response.resync.reason))
        return changes

    def interrupted(self) -> WatchedChange | None:
        """Return a restart of the rows if the connection was lost among them; else None."""
        if not self._listing:
            return None
        return self._restart("the connection was lost while the rows were being given")

    def _restart(self, reason: str) -> WatchedChange:
        self.token, self._listing, self._listed = b"", False, False
        return WatchedChange(kind=ChangeKind.RESYNC, reason=reason)
