"""The watches of clients: rows of families, then every change of them, from any node."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from google.protobuf import descriptor_pool

from quorate.http2.grpc.codes import Code
from quorate.plugin import Access, Invalid, RowEvent
from quorate.plugin.access import EVERY, Authority, Rights, denied, needed
from quorate.plugin.catalog import Catalog
from quorate.plugin.needs import needs_of_core, readable
from quorate.plugin.shard_id import ShardId
from quorate.plugin.splicing import encoded
from quorate.rpc import callers, deadline
from quorate.rpc.limits import caller_in
from quorate.rpc.methods import Context
from quorate.rpc.server import RpcServer
from quorate.shards.refusals import UnreadableError
from quorate.shards.watching.feeds import Seen
from quorate.shards.watching.tokens import InvalidTokenError, WatchToken
from quorate.shards.watching.watch import Portion, Watch as OpenWatch
from quorate.shards.watching.watches import Watches
from quorate.v1 import watch_pb2 as pb

#: Watches that are opened in a turn: each takes a fraction of a millisecond of the loop.
TURN_WATCHES: Final = 4
TURN_S: Final = 0.005


class Openings:
    """Spreads a burst of new watches over time, so that other calls run in between.

    Callers take turns: a caller that opens thousands delays its own watches.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._left = TURN_WATCHES
        #: By caller, in the order of their turns.
        self._waiting: Final[dict[str, deque[asyncio.Future[None]]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def admit(self, who: str) -> None:
        """Return once a caller may open a watch."""
        if self._timer is None:
            self._timer = self._loop.call_later(TURN_S, self._turn)
        if self._left:
            self._left -= 1
            return
        admitted: asyncio.Future[None] = self._loop.create_future()
        self._waiting.setdefault(who, deque()).append(admitted)
        await admitted

    def _turn(self) -> None:
        self._left = TURN_WATCHES
        while self._left and self._waiting:
            who = next(iter(self._waiting))
            queue = self._waiting.pop(who)
            admitted = queue.popleft()
            if not admitted.done():
                admitted.set_result(None)
                self._left -= 1
            if queue:
                self._waiting[who] = queue
        idle = self._left == TURN_WATCHES
        self._timer = None if idle else self._loop.call_later(TURN_S, self._turn)


SERVICE: Final = pb.DESCRIPTOR.services_by_name["WatchService"]
#: A watch shows only the rows that its caller may read.
ACCESS: Final = dict.fromkeys(SERVICE.methods_by_name, Access(right="identity"))
#: Approximate maximum bytes of the events of several commands in one response.
RESPONSE_BYTES: Final = 1 << 20
#: Time for which a client that takes nothing may delay the stop of a node.
STOP_S: Final = 0.5

Kind: TypeAlias = pb.WatchEvent.Kind


@dataclass(eq=False)
class WatchService:
    """Sends the events of a watch as fast as its client takes them, holding at most a page.

    `shards` returns the shards of a group.
    """

    _watching: Callable[[], Watches]
    _shards: Callable[[str], Sequence[ShardId]]
    _catalog: Catalog
    _authority: Authority
    _open: dict[asyncio.Task[Any], OpenWatch] = field(default_factory=dict, init=False)
    _stopping: str | None = field(default=None, init=False)
    _openings: Openings = field(
        default_factory=lambda: Openings(asyncio.get_running_loop()), init=False
    )

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, self, needs_of_core(SERVICE, ACCESS, ""))

    async def stop(self, why: str) -> None:
        """End every watch, so that its client goes on elsewhere, and refuse new ones."""
        self._stopping = why
        for watch in self._open.values():
            watch.close()
        if self._open:
            await asyncio.wait(list(self._open), timeout=STOP_S)
        for call in self._open:
            call.cancel()

    async def Watch(self, request: pb.WatchRequest, context: Context) -> None:
        """Give the rows and then every change, or the changes after a token."""
        await self._openings.admit(caller_in(context))
        watch = await self._opened(request)
        call = asyncio.current_task()
        if call is None:
            raise RuntimeError("a call is served by a task")
        self._open[call] = watch
        try:
            await self._give(watch, context)
        except asyncio.CancelledError:
            if self._stopping is None:
                raise
            # It was `stop`: the reason follows the messages that the client has yet to read.
            context.set_code(Code.UNAVAILABLE)
            context.set_details(self._stopping)
        finally:
            del self._open[call]
            watch.close()

    def _demand(self, families: Sequence[pb.WatchedFamily]) -> None:
        """Refuse a caller that may read no rows of a family, or not all of the messages."""
        if (rights := self._rights()) is None:
            return
        for family in families:
            domain = self._domain(family.name)
            known = family.name in self._catalog.families
            if not (rights.some if known else rights.covers)(domain, "read"):
                raise denied(rights.name, needed("read", domain))

    def _domain(self, name: str) -> str:
        """Return the domain of a family, or of a message: its plugin."""
        if name in self._catalog.families:
            return name
        package = descriptor_pool.Default().FindMessageTypeByName(name).file.package
        for plugin, declared in self._catalog.declared.items():
            for command in declared.commands:
                if command.message.DESCRIPTOR.file.package == package:
                    return plugin
        return EVERY

    def _rights(self) -> Rights | None:
        """Return the rights of the caller; None if it needs none."""
        caller = callers.caller()
        if caller.node or self._authority.enabled is False:
            return None
        return self._authority.rights(caller.name)

    def _shown(self, events: Sequence[Seen]) -> Sequence[Seen]:
        """Return the events that the caller may see, as its rights are now."""
        if (rights := self._rights()) is None:
            return events
        return [seen for seen in events if self._may_see(rights, seen)]

    def _may_see(self, rights: Rights, seen: Seen) -> bool:
        event = seen.event
        if not isinstance(event, RowEvent):
            return rights.covers(self._domain(event.message.DESCRIPTOR.full_name), "read")
        may = readable(rights, self._catalog.families[event.family])
        return may is None or may(event.key)

    async def _give(self, watch: OpenWatch, context: Context) -> None:
        if watch.token:
            await context.write(pb.WatchResponse(token=watch.token, listed=True))
        # Only where limits bound the bytes in flight.
        room = getattr(context, "room", None)
        while self._stopping is None and (portion := await watch.portion(room)) is not None:
            if portion.events:
                shown = self._shown(portion.events)
                if shown is not portion.events:
                    portion = replace(portion, events=shown)
                if not (portion.events or portion.token):
                    continue
            # While a slow client is waited for, its rows are held once.
            waiting = deque(map(encoded, self._responses(watch, portion)))
            del portion
            while waiting:
                await context.write(waiting.popleft())
        if self._stopping is not None:
            raise UnreadableError(self._stopping)

    async def _opened(self, request: pb.WatchRequest) -> OpenWatch:
        group = group_of(self._catalog, request.families)
        self._demand(request.families)
        shards = _chosen(self._shards(group), request.shards, group)
        watching = self._watching()
        token, until = request.token, None
        if token:
            start = _read_token("token", token, watching.cluster, group)
            # One that lacks a shard is lost, not refused.
            token = start.of(shards).encode() if request.shards else token
        if request.until:
            until = _end(request, watching.cluster, group, shards)
        return await watching.open_fresh(
            {family.name: family.prefix for family in request.families},
            shards,
            token,
            changes_only=request.changes_only,
            timeout_s=deadline.remaining_s(),
            prompt=until is not None,
            until=until,
        )

    def _responses(self, watch: OpenWatch, portion: Portion) -> list[pb.WatchResponse]:
        if portion.lost:
            resync = pb.Resync(reason=watch.lost or "")
            return [pb.WatchResponse(resync=resync, listed=watch.listed)]
        if portion.shard is None or not portion.events:
            return [pb.WatchResponse(token=portion.token, listed=watch.listed)]
        listing = portion.behind is None
        responses = []
        for events in _commands(portion.events):
            response = pb.WatchResponse(listed=not listing)
            shard = portion.shard.number
            response.events.extend(self._sent(seen, shard, listing=listing) for seen in events)
            if not listing:
                response.token = watch.token_at(portion.shard, events[-1].revision)
            responses.append(response)
        # After the last command there may be some that are not for this watch.
        responses[-1].token = portion.token
        return responses

    def _sent(self, seen: Seen, shard: int, *, listing: bool) -> pb.WatchEvent:
        event = seen.event
        if not isinstance(event, RowEvent):
            return pb.WatchEvent(
                kind=Kind.EMITTED,
                name=event.message.DESCRIPTOR.full_name,
                value=event.message.SerializeToString(deterministic=True),
                revision=seen.revision,
                shard=shard,
                at_ms=seen.at_ms,
            )
        return pb.WatchEvent(
            kind=Kind.ROW if listing else self._kind(event),
            name=event.family,
            key=event.key,
            value=event.value or b"",
            previous=event.previous or b"",
            revision=seen.revision,
            shard=shard,
            at_ms=seen.at_ms,
        )

    def _kind(self, event: RowEvent) -> Kind:
        if event.value is None:
            return Kind.DELETED
        if not self._catalog.families[event.family].previous:
            return Kind.PUT
        return Kind.CREATED if event.previous is None else Kind.UPDATED


def group_of(catalog: Catalog, families: Sequence[pb.WatchedFamily]) -> str:
    """Return the group that all of it belongs to; raises `Invalid`.

    A message that is emitted belongs to the groups of the commands of its package.
    """
    if not families:
        raise Invalid("families", "must not be empty")
    groups: frozenset[str] | None = None
    seen: set[str] = set()
    for position, family in enumerate(families):
        field = f"families[{position}]"
        if family.name in seen:
            raise Invalid(f"{field}.name", f"{family.name} is named twice; open two watches")
        seen.add(family.name)
        own = _groups(catalog, family, field)
        if groups is not None and not groups & own:
            raise Invalid(
                f"{field}.name",
                f"{family.name} belongs to group {_listed(own)}, and the names before it belong"
                f" to {_listed(groups)}; open a watch for each",
            )
        groups = own if groups is None else groups & own
    if groups is None or len(groups) > 1:
        raise Invalid(
            "families",
            f"these messages may be of group {_listed(groups or ())}; name a family of one, too",
        )
    [group] = groups
    return group


def _groups(catalog: Catalog, family: pb.WatchedFamily, field: str) -> frozenset[str]:
    declared = catalog.families.get(family.name)
    if declared is not None:
        if declared.row is None:
            raise Invalid(
                f"{field}.name", f"column family {family.name} is private: its rows are not watched"
            )
        return frozenset({declared.group})
    groups = _emitting(catalog, family.name)
    if not groups:
        raise Invalid(
            f"{field}.name",
            f"{family.name!r} is neither a column family of this cluster nor a message of a plugin"
            f"{_meant(catalog, family.name)}",
        )
    if family.prefix:
        raise Invalid(f"{field}.prefix", f"{family.name} is a message, and has no keys")
    return groups


def _meant(catalog: Catalog, name: str) -> str:
    """Return the families of a plugin where its name was given, and else those of all plugins."""
    watched = [each.name for each in catalog.families.values() if each.row is not None]
    of_plugin = [each for each in watched if each.partition(".")[0] == name.partition(".")[0]]
    return f"; there are: {', '.join(sorted(of_plugin or watched))}"


def _emitting(catalog: Catalog, name: str) -> frozenset[str]:
    """Return the groups in which a message may be emitted; empty for an unknown message."""
    try:
        package = descriptor_pool.Default().FindMessageTypeByName(name).file.package
    except KeyError:
        return frozenset()
    return frozenset(
        command.group
        for command in catalog.commands.values()
        if command.message.DESCRIPTOR.file.package == package
    )


def _chosen(shards: Sequence[ShardId], numbers: Sequence[int], group: str) -> Sequence[ShardId]:
    # A request may name millions of them.
    wanted = frozenset(numbers)
    if strange := wanted - {shard.number for shard in shards}:
        raise Invalid("shards", f"group {group} has no shard {min(strange)}")
    return [shard for shard in shards if shard.number in wanted] if wanted else shards


def _end(
    request: pb.WatchRequest, cluster: bytes, group: str, shards: Sequence[ShardId]
) -> Mapping[ShardId, int]:
    if not request.token:
        raise Invalid("until", "only a watch that goes on after a token can end at one; give token")
    end = _read_token("until", request.until, cluster, group)
    missing = [shard for shard in shards if shard not in end.revisions]
    if missing or end.cluster != cluster:
        what = f"has no position in {missing[0]}" if missing else "is of another cluster"
        raise Invalid("until", f"the token {what}; give one of the same families and shards")
    return end.revisions


def _read_token(field: str, token: bytes, cluster: bytes, group: str) -> WatchToken:
    """Decode a token of this group's watches; refuse others, but one of another cluster later."""
    try:
        read = WatchToken.decode(token)
    except InvalidTokenError as error:
        raise Invalid(field, str(error)) from None
    strange = {shard.group for shard in read.revisions} - {group}
    if strange and read.cluster == cluster:
        raise Invalid(
            field,
            f"it is of a watch of group {_listed(strange)}, and this one is of group {group}; give"
            " it back with the families that it came with",
        )
    return read


def _commands(events: Sequence[Seen]) -> Iterator[Sequence[Seen]]:
    """Part events where a response is full, and never between those of one command."""
    first = size = 0
    for at, seen in enumerate(events):
        if size >= RESPONSE_BYTES and seen.revision != events[at - 1].revision:
            yield events[first:at]
            first, size = at, 0
        size += _size(seen)
    yield events[first:]


def _size(seen: Seen) -> int:
    event = seen.event
    if isinstance(event, RowEvent):
        return len(event.key) + len(event.value or b"") + len(event.previous or b"")
    return event.message.ByteSize()


def _listed(groups: Iterable[str]) -> str:
    return " or ".join(sorted(groups))
