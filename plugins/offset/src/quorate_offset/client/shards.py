"""The shards of consumer groups, so that shards are called in parallel."""

from collections.abc import Iterable, Mapping
from typing import Final

from quorate.client import AsyncClient, UnavailableError
from quorate.plugin.slots import SLOTS, slot_of, slots_in
from quorate.v1.admin_pb2 import TopologyResponse

from quorate_offset.families import GROUP, group_key


class Shards:
    """The shards of the offsets, as of the first use.

    A group's shard is only a hint for the first call: the client and the nodes reroute it.
    """

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._holders: Mapping[int, int] = {}

    async def learn(self, *, timeout_s: float | None = None) -> None:
        """Read the topology of the shards, unless it is known."""
        if not self._holders:
            holders = _holders(await self._q.topology(timeout_s=timeout_s))
            if len(holders) < SLOTS:
                raise UnavailableError(
                    f"no node knows all shards of group {GROUP} yet; see with `quorate status` "
                    "whether the cluster is founded with the plugin `offset`"
                )
            self._holders = holders

    async def shares(
        self, groups: Iterable[tuple[str, str]], *, timeout_s: float | None = None
    ) -> list[list[int]]:
        """Return the positions of the groups of each shard, by tenant and name, in their order."""
        await self.learn(timeout_s=timeout_s)
        shares: dict[int, list[int]] = {}
        for position, group in enumerate(groups):
            shares.setdefault(self.of(*group), []).append(position)
        return list(shares.values())

    def of(self, tenant: str, group: str) -> int:
        """Return the shard of a group; `learn` must have run."""
        return self._holders[slot_of(group_key(tenant, group))]


def _holders(topology: TopologyResponse) -> dict[int, int]:
    return {
        slot: place.number
        for place in topology.shards
        if place.group == GROUP
        for slot in slots_in(place.slots)
    }
