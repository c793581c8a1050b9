"""Which shard of a group has a key, and a load's sessions and views there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from quorate.client import Client, QuorateError, UnavailableError
from quorate.plugin.slots import SLOTS, slot_of, slots_in
from quorate.v1 import view_pb2 as views
from quorate.v1.admin_pb2 import TopologyResponse

VIEWS: Final = "/quorate.v1.ViewService"
#: Shard keys of which some shard's is found soon.
_TRIES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlan:
    """The shards of a group, as they are at the beginning of a load or read."""

    group: str
    #: The number of the shard of each slot.
    holders: Sequence[int]
    #: The leader of each shard; empty while none is known.
    leaders: Mapping[int, str]

    def shard_of(self, shard_key: bytes) -> int:
        """Return the number of the shard that has a key."""
        return self.holders[slot_of(shard_key)]

    def by_shard(self, slots: Sequence[int]) -> dict[int, list[int]]:
        """Return the places of each shard's rows, of which the slots are given in their order."""
        places: dict[int, list[int]] = {}
        for at, slot in enumerate(slots):
            places.setdefault(self.holders[slot], []).append(at)
        return places

    def some_key(self, shard: int) -> bytes:
        """Return a shard key of a shard, by which it is found."""
        for number in range(_TRIES):
            key = b"%d" % number
            if self.shard_of(key) == shard:
                return key
        raise ValueError(f"shard {self.group}/{shard} has no slot")


def plan_of(topology: TopologyResponse, group: str) -> ShardPlan:
    """Return the shards of a group; raises `UnavailableError` when not all are there."""
    holders: list[int | None] = [None] * SLOTS
    versions = [0] * SLOTS
    leaders: dict[int, str] = {}
    for place in topology.shards:
        if place.group != group:
            continue
        leaders[place.number] = place.leader
        for slot in slots_in(place.slots):
            if holders[slot] is None or versions[slot] < place.version:
                holders[slot], versions[slot] = place.number, place.version
    known = [holder for holder in holders if holder is not None]
    if len(known) != SLOTS:
        raise UnavailableError(
            f"the cluster has no group {group}, or not all of its shards yet: enable the plugin of"
            " the table in [plugins] enabled on every node, and wait until the nodes are ready"
        )
    return ShardPlan(group=group, holders=known, leaders=leaders)


def session_name(load_id: str, partition: int) -> str:
    """Return the name under which a part of a load has its session on each shard."""
    digest = blake2b(f"{partition}\0{load_id}".encode(), digest_size=20).hexdigest()
    return f"spark/{digest}"


@contextmanager
def viewed(
    client: Client, plan: ShardPlan, family: str, shard: int
) -> Iterator[views.OpenViewResponse]:
    """Give a view of a family, which the leader of a shard holds for the block."""
    node = client.at(plan.leaders[shard])
    request = views.OpenViewRequest(family=family, shard=shard)
    view = node.call(f"{VIEWS}/Open", request, views.OpenViewResponse)
    try:
        yield view
    finally:
        # A view that cannot be closed ends by itself.
        with suppress(QuorateError):
            close = views.CloseViewRequest(view=view.view)
            node.call(f"{VIEWS}/Close", close, views.CloseViewResponse)
