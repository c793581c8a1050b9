"""The offsets of many groups, read of all their shards at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from quorate.plugin import NodeApi, Rejected

from quorate_offset.answers import consistency
from quorate_offset.v1.queries_pb2 import FetchGroupsQuery, GroupName, GroupOffsets


@dataclass(frozen=True, slots=True)
class FoundGroups:
    """The offsets of groups, as far as their shards could be read."""

    #: By tenant and name; many offsets come in several messages.
    parts: dict[tuple[str, str], list[GroupOffsets]] = field(default_factory=dict)
    #: Why the shard of a group could not be read, by its position.
    failures: dict[int, Rejected] = field(default_factory=dict)
    ages_ms: list[int] = field(default_factory=list)


async def read_groups(node: NodeApi, groups: Sequence[GroupName], *, stale: bool) -> FoundGroups:
    """Read groups; a shard that cannot be read fails its own, and it is raised when none can."""
    query = FetchGroupsQuery(groups=groups)
    found = FoundGroups()
    async for shard in node.read_shards(query, GroupOffsets, consistency=consistency(stale=stale)):
        if shard.failure is not None:
            found.failures.update(dict.fromkeys(shard.positions, shard.failure))
            continue
        found.ages_ms.append(shard.age_ms)
        for part in shard.rows:
            found.parts.setdefault((part.tenant, part.group), []).append(part)
    return found
