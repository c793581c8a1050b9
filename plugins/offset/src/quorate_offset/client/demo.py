"""The part of `quorate demo`: groups that consume topics, some of them slower than the others."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from itertools import product
from typing import Final

from quorate.client import AsyncClient
from quorate.plugin.advanced import DemoScene

from quorate_offset.client import Offsets
from quorate_offset.client.subscription_groups import SubscriptionGroups
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit, SubscriptionGroupChange

#: The groups, with the share of the messages that each keeps up with.
_GROUPS: Final = {"billing": 1.0, "search": 0.9, "archive": 0.4}
_TOPICS: Final = ("orders", "payments")
_PARTITIONS: Final = 4
#: Messages a step in each partition.
_MESSAGES: Final = 40


async def demo(q: AsyncClient, scene: DemoScene) -> AsyncGenerator[str, None]:
    """Commit offsets of every group, then go on at each step; the slow ones fall behind."""
    offsets = Offsets(q)
    places = list(product(scene.tenants, _GROUPS))
    await SubscriptionGroups(q).put_many(
        SubscriptionGroupChange(tenant=tenant, group=group) for tenant, group in places
    )
    partitions = list(product(_TOPICS, range(_PARTITIONS)))
    committed = {place: dict.fromkeys(partitions, 0) for place in places}
    for tenant, group in places:
        found = await offsets.fetch_group(tenant, group)
        for each in found.offsets:
            committed[tenant, group][each.topic, each.partition] = each.offset
    await offsets.commit_many(_commit(*place, committed[place]) for place in places)
    yield f"groups {', '.join(_GROUPS)} of {len(partitions)} partitions in each tenant"
    while True:
        tenant = random.choice(scene.tenants[:-1])
        for group, share in _GROUPS.items():
            of = committed[tenant, group]
            for partition in of:
                of[partition] += round(_MESSAGES * share)
        await offsets.commit_many(
            _commit(tenant, each, committed[tenant, each]) for each in _GROUPS
        )
        yield ""


def _commit(tenant: str, group: str, of: dict[tuple[str, int], int]) -> GroupCommit:
    return GroupCommit(
        tenant=tenant,
        group=group,
        commits=[
            OffsetCommit(topic=topic, partition=partition, offset=offset)
            for (topic, partition), offset in of.items()
        ],
    )
