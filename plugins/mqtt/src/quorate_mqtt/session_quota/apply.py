"""The handlers: functions of a transaction and a command, run once, on the leader of a shard."""

from typing import Final

from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.advanced import answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.session_quota.quota import (
    NUMBERS,
    PLACE_KEY,
    PLACES,
    QUOTAS,
    place_of,
    quota_of,
    sessions_of,
)
from quorate_mqtt.v1 import quotas_pb2 as pb

#: The number of the shard is in the bits above those of a sequence.
_SHARD_AT: Final = 48


def place_shards(txn: Txn, command: pb.PlaceShards) -> BatchReply:
    """Record the slots of this shard; proposals of older terms are rejected from now on."""
    _check_term(place_of(txn), command.term)
    place = pb.ShardPlace(
        shard=txn.next_id(NUMBERS) >> _SHARD_AT,
        slots=len(command.probes),
        shards=command.shards,
        probe=command.probes[0],
        term=command.term,
    )
    txn.put(PLACES, PLACE_KEY, place.SerializeToString(deterministic=True))
    return BatchReply(items=len(command.probes))


def move_quotas(txn: Txn, command: pb.MoveQuotas) -> BatchReply:
    """Change the quotas of tenants, none below the number of existing sessions."""
    place = place_of(txn)
    _check_term(place, command.term)

    def move(txn: Txn, change: pb.QuotaMove) -> pb.QuotaMoved:
        quota = change.quota
        if quota < quota_of(txn, change.tenant, change.limit, place):
            quota = max(quota, sessions_of(txn, change.tenant))
        given = pb.SessionQuota(limit=change.limit, quota=quota)
        key = keys.pack(change.tenant)
        txn.put(QUOTAS, key, given.SerializeToString(deterministic=True))
        return pb.QuotaMoved(quota=quota)

    return answer_each(txn, command.moves, move)


def _check_term(place: pb.ShardPlace, term: int) -> None:
    if term < place.term:
        raise Rejected(
            "ABORTED",
            f"quotas are moved in term {place.term}, and this was proposed in term {term}",
        )
