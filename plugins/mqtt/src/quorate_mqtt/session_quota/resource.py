"""The commands and queries of the controller that divides limits among shards."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Command, Items, Query, Reader, Rejected, Txn, keys
from quorate.plugin.advanced import answer_each
from quorate.plugin.resource import TENANTS, limit_of
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import Tenant

from quorate_mqtt.session_quota.controllers import PROBES
from quorate_mqtt.session_quota.quota import (
    LIMIT,
    NUMBERS,
    PLACE_KEY,
    PLACES,
    QUOTAS,
    place_of,
    quota_of,
    sessions_of,
)
from quorate_mqtt.shards import GROUP
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


def list_shard_places(reader: Reader, _: pb.ListShardPlaces) -> Iterator[pb.ShardPlace]:
    """Yield the place of this shard, if it has one."""
    place = place_of(reader)
    if place.slots:
        yield place


def list_session_counts(reader: Reader, _: pb.ListSessionCounts) -> Iterator[pb.SessionCount]:
    """Yield the sessions and the quota of each tenant with a limit, in this shard."""
    place = place_of(reader)
    for row in reader.scan(TENANTS, *keys.prefix()):
        tenant = Tenant.FromString(row.value)
        limit = limit_of(tenant, LIMIT)
        if limit is not None:
            yield pb.SessionCount(
                tenant=tenant.name,
                shard=place.shard,
                probe=place.probe,
                sessions=sessions_of(reader, tenant.name),
                limit=limit,
                quota=quota_of(reader, tenant.name, limit, place),
            )


COMMANDS: Final = (
    Command(
        message=pb.PlaceShards,
        group=GROUP,
        apply=place_shards,
        items=Items.of("probes", shard_key=bytes, key=bytes),
        examples=(pb.PlaceShards(term=1, shards=1, probes=PROBES[:3]),),
    ),
    Command(
        message=pb.MoveQuotas,
        group=GROUP,
        apply=move_quotas,
        items=Items.of("moves", shard_key=lambda move: move.probe),
        examples=(
            pb.MoveQuotas(
                term=1,
                moves=[pb.QuotaMove(probe=PROBES[0], tenant="acme", limit=100, quota=60)],
            ),
        ),
    ),
)
QUERIES: Final = (
    Query(
        message=pb.ListShardPlaces,
        group=GROUP,
        run=list_shard_places,
        order=lambda place: keys.pack(place.shard),
    ),
    Query(
        message=pb.ListSessionCounts,
        group=GROUP,
        run=list_session_counts,
        order=lambda count: keys.pack(count.tenant, count.shard),
        reads=(TENANTS,),
    ),
)
