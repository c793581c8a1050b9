"""Brings a shard back that lost its majority: from one replica, or without its rows."""

import asyncio
from typing import Final

from quorate.apply.control import METADATA
from quorate.groups.groups import Groups
from quorate.groups.node_shards import NodeShards
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import BITMAP_BYTES
from quorate.v1.admin_pb2 import RecoverShardRequest
from quorate.v1.control_pb2 import AdoptSlots, RecoverShard, ShardOrigin

#: A shard that carries out a command within this time has lost nothing.
_SERVES_WITHIN_S: Final = 3.0
_RECORD_S: Final = 15.0
#: No replica has applied so much, nor was any cluster restored so often.
_MOST_INDEX: Final = 1 << 39
_MOST_GENERATION: Final = 1 << 31


async def recover(
    shards: NodeShards, groups: Groups, shard: ShardId, request: RecoverShardRequest
) -> int:
    """Have every node begin the shard anew; return how often it was recovered.

    Raises `Invalid`, `Rejected`, `NotProposedError` and `OutcomeUnknownError`.
    """
    if shard == METADATA:
        raise Invalid(
            "shard",
            f"{METADATA} says where all others are and cannot be recovered: while a majority"
            " of its nodes runs, `quorate member replace` replaces one; otherwise restore a"
            " backup with `quorate backup restore`",
        )
    row = next((each for each in shards.rows() if ShardId(each.group, each.number) == shard), None)
    if row is None:
        raise Invalid("shard", f"there is no shard {shard}")
    for field, value, most in (
        ("index", request.index, _MOST_INDEX),
        ("generation", request.generation, _MOST_GENERATION),
    ):
        if value > most:
            raise Invalid(field, f"must be at most {most}, not {value}")
    await _demand_lost(groups, shard)
    here = [each.status() for each in shards.all()]
    left = shards.left
    origin = ShardOrigin(
        epoch=row.origin.epoch + 1,
        node=request.node,
        empty=request.empty,
        index=max(
            [
                request.index,
                *(each.replica.applied for each in here if each.shard == shard),
                *(record.position.index for name, record in left.items() if name == shard),
            ]
        ),
        generation=max(
            [
                request.generation,
                *(each.generation for each in here),
                *(record.generation for record in left.values()),
            ]
        ),
    )
    command = RecoverShard(group=shard.group, number=shard.number, origin=origin)
    # A second time does no harm.
    await groups.propose_control(METADATA, command, timeout_s=_RECORD_S)
    return origin.epoch


async def _demand_lost(groups: Groups, shard: ShardId) -> None:
    """Raise `Rejected` for a shard that serves: nothing of it is to be given up."""
    # Old slots are passed over: it shows no more than that commands are carried out.
    probe = AdoptSlots(version=0, slots=bytes(BITMAP_BYTES))
    try:
        async with asyncio.timeout(_SERVES_WITHIN_S):
            await groups.propose_control(shard, probe, timeout_s=_SERVES_WITHIN_S)
    except (NotProposedError, OutcomeUnknownError, TimeoutError):
        return
    raise Rejected(
        "SERVES",
        f"shard {shard} has a majority and serves; a single replica that stopped is replaced"
        " with its node: `quorate member replace NODE ADDRESS`",
    )
