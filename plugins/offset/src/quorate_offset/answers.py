"""Helpers of the services: read groups, page results, and unpack replies."""

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
    """Yield the reply to each item; an empty message for a refused item or one without a reply."""
    if not reply.replies:
        yield from (kind() for _ in range(reply.items))
    for encoded in reply.replies:
        yield kind.FromString(encoded)


def oldest(ages_ms: Iterable[int]) -> int:
    """Return the largest age of the answers of shards; -1 if one is unknown."""
    ages = list(ages_ms)
    return -1 if -1 in ages else max(ages, default=0)


def consistency(*, stale: bool) -> Consistency:
    """Return the consistency that a request asks for."""
    return "stale" if stale else "linearizable"


@dataclass(frozen=True, slots=True)
class FoundGroups:
    """The offsets of groups, with the failures of shards that could not be read."""

    #: By tenant and name; a group with many offsets has several messages.
    parts: dict[tuple[str, str], list[asked.GroupOffsets]] = field(default_factory=dict)
    #: The failure of a group's shard, by the position of the group.
    failures: dict[int, Rejected] = field(default_factory=dict)
    ages_ms: list[int] = field(default_factory=list)


async def read_groups(
    node: NodeApi, groups: Sequence[asked.GroupName], *, stale: bool
) -> FoundGroups:
    """Read groups; a failed shard fails only its own groups. Raises if all shards fail."""
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
    """Return one page of the states, and the token of the next page; empty after the last."""
    if len(found) <= size:
        return found, b""
    last = found[size - 1]
    token = asked.GroupName(tenant=last.tenant, group=last.group)
    return found[:size], token.SerializeToString(deterministic=True)


def after_token(token: bytes) -> asked.GroupName:
    """Return the group after which a page begins; refuse an invalid token."""
    if not token:
        return asked.GroupName()
    try:
        after = asked.GroupName.FromString(token)
    except DecodeError as error:
        raise Invalid("page_token", "must come from an earlier page") from error
    if not after.tenant or not after.group:
        raise Invalid("page_token", "must come from an earlier page")
    return after
