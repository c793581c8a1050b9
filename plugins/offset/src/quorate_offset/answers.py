"""How services ask, and how what they hear becomes their answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message
from quorate.plugin import Consistency, Invalid, NodeApi, Rejected
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.v1 import queries_pb2 as asked

M = TypeVar("M", bound=Message)

PAGE_SIZE: Final = 100


def each_reply(reply: BatchReply, kind: type[M]) -> Iterator[M]:
    """Yield the reply to each item; an empty one for an item that was refused or has none."""
    if not reply.replies:
        yield from (kind() for _ in range(reply.items))
    for encoded in reply.replies:
        yield kind.FromString(encoded)


def oldest(ages_ms: Iterable[int]) -> int:
    """Return the age of what several shards have answered; -1: that of one is not known."""
    ages = list(ages_ms)
    return -1 if -1 in ages else max(ages, default=0)


def consistency(*, stale: bool) -> Consistency:
    """Return how a request wants to read."""
    return "stale" if stale else "linearizable"


@dataclass(frozen=True, slots=True)
class FoundGroups:
    """The offsets of groups, as far as their shards could be read."""

    #: By tenant and name; many offsets come in several messages.
    parts: dict[tuple[str, str], list[asked.GroupOffsets]] = field(default_factory=dict)
    #: Why the shard of a group could not be read, by its position.
    failures: dict[int, Rejected] = field(default_factory=dict)
    ages_ms: list[int] = field(default_factory=list)


async def read_groups(
    node: NodeApi, groups: Sequence[asked.GroupName], *, stale: bool
) -> FoundGroups:
    """Read groups; a shard that cannot be read fails its own, and it is raised when none can."""
    query = asked.FetchGroupsQuery(groups=groups)
    found = FoundGroups()
    async for shard in node.read_shards(
        query, asked.GroupOffsets, consistency=consistency(stale=stale)
    ):
        if shard.failure is not None:
            found.failures.update(dict.fromkeys(shard.positions, shard.failure))
            continue
        found.ages_ms.append(shard.age_ms)
        for part in shard.rows:
            found.parts.setdefault((part.tenant, part.group), []).append(part)
    return found


def cut(found: Sequence[asked.GroupState], size: int) -> tuple[Sequence[asked.GroupState], bytes]:
    """Return one page of what was found, and the token of the next; it is empty after the last."""
    if len(found) <= size:
        return found, b""
    last = found[size - 1]
    token = asked.GroupName(tenant=last.tenant, group=last.group)
    return found[:size], token.SerializeToString(deterministic=True)


def after_token(token: bytes) -> asked.GroupName:
    """Return the group after which a page begins; refuse what no page gave."""
    if not token:
        return asked.GroupName()
    try:
        after = asked.GroupName.FromString(token)
    except DecodeError as error:
        raise Invalid("page_token", "was not given by a page before") from error
    if not after.tenant or not after.group:
        raise Invalid("page_token", "was not given by a page before")
    return after
