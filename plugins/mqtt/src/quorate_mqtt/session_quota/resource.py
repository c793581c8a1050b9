"""The declarations for dividing limits, and the queries of the controller."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Command, Items, Query, Reader, keys
from quorate.plugin.resource import TENANTS, limit_of
from quorate.v1.tenant_pb2 import Tenant

from quorate_mqtt.session_quota import apply
from quorate_mqtt.session_quota.controllers import PROBES
from quorate_mqtt.session_quota.quota import LIMIT, place_of, quota_of, sessions_of
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1 import quotas_pb2 as pb


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
        apply=apply.place_shards,
        items=Items.of("probes", shard_key=bytes, key=bytes),
        examples=(pb.PlaceShards(term=1, shards=1, probes=PROBES[:3]),),
    ),
    Command(
        message=pb.MoveQuotas,
        group=GROUP,
        apply=apply.move_quotas,
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
