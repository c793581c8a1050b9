"""Expiry: the leader of each shard deletes idle groups, and forgets them later."""

import json
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from quorate.builtin.resource.api import value_of
from quorate.plugin import Consistency, Controller, Metric, NodeApi, Rejected, ShardRef, Txn
from quorate.plugin.advanced import answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.config import OffsetConfig
from quorate_offset.families import CHANGES, GROUP, MARKS, change_key, group_key
from quorate_offset.marks import raise_floor, read_mark
from quorate_offset.offsets.apply import delete_group
from quorate_offset.v1.commands_pb2 import ExpireGroups, GroupExpiry, OffsetsChanged
from quorate_offset.v1.queries_pb2 import IdleGroup, ListIdleGroupsQuery

#: The path of the resource; its value is a JSON object.
PATH: Final = "settings/offset"
#: The family that holds the resource.
FAMILY: Final = "resource.resources"
WEEK_S: Final = 7 * 24 * 3_600
#: Groups per command: each may have many offsets.
TOGETHER: Final = 100
#: The most commands of one run.
MOST_COMMANDS: Final = 100

EXPIRED: Final = Metric(
    name="quorate_offset_expired_groups_total",
    kind="counter",
    help="Groups whose offsets were deleted after group_expire_s without a change.",
)


class OffsetSettings(BaseModel):
    """The settings that operators change at run time."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    #: Time that an unchanged group is kept; 0: for ever.
    group_expire_s: int = Field(default=WEEK_S, ge=0, le=100 * 366 * 24 * 3_600)


async def read_settings(node: NodeApi, consistency: Consistency = "linearizable") -> OffsetSettings:
    """Return the current settings; raises `Rejected` if the resource is invalid."""
    value = await value_of(node, PATH, consistency)
    if value is None:
        return OffsetSettings()
    try:
        return OffsetSettings.model_validate(json.loads(value))
    except (ValueError, ValidationError) as error:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"resource {PATH} is not a JSON object of known settings, so no group expires until "
            f"it is fixed: {error}",
        ) from error


async def expire_idle_groups(node: NodeApi, shard: ShardRef) -> None:
    """Expire the groups of a shard that have been unchanged for `group_expire_s`."""
    # Most searches find none: they read only this replica, and wake no hibernating shard.
    if not await _idle(node, shard, await read_settings(node, "stale")):
        return
    set_now = await read_settings(node)
    for _ in range(MOST_COMMANDS):
        idle = await _idle(node, shard, set_now)
        if not idle:
            return
        command = ExpireGroups(
            groups=[
                GroupExpiry(tenant=each.tenant, group=each.group, revision=each.revision)
                for each in idle
            ]
        )
        reply = await node.propose(command, BatchReply, if_leader=shard)
        node.count(EXPIRED.name, sum(1 for each in reply.replies if each))
        if reply.refusals or len(idle) < TOGETHER:
            return


async def _idle(node: NodeApi, shard: ShardRef, set_now: OffsetSettings) -> list[IdleGroup]:
    until_ms = node.logical_ms(shard) - set_now.group_expire_s * 1_000
    if not set_now.group_expire_s or until_ms < 0:
        return []
    query = ListIdleGroupsQuery(shard=shard.shard, changed_until_ms=until_ms, limit=TOGETHER)
    # A stale read suffices: the command names the revision at which the group was idle.
    answers = node.read_shards(query, IdleGroup, shards=[shard.shard], consistency="stale")
    return [found async for each in answers for found in each.rows]


EXPIRY: Final = Controller(
    name="offset.expiry",
    group=GROUP,
    run_once=expire_idle_groups,
    interval_s=lambda node: node.config(OffsetConfig).expiry_interval_s,
    scope="each_shard",
    wake_on=(FAMILY,),
)


def expire_groups(txn: Txn, command: ExpireGroups) -> BatchReply:
    """Expire groups that have not changed since they were found idle."""
    return answer_each(txn, command.groups, _expire)


def _expire(txn: Txn, expiry: GroupExpiry) -> OffsetsChanged | None:
    group = group_key(expiry.tenant, expiry.group)
    mark = read_mark(txn, group)
    if mark.revision != expiry.revision:
        return None
    if not mark.deleted:
        return OffsetsChanged(offsets=delete_group(txn, group))
    if raise_floor(txn, mark.revision, group):
        txn.delete(CHANGES, change_key(mark.revision, group))
        txn.delete(MARKS, group)
    return None
