"""Brokers: their registrations, which expire, and the one read that is not derived."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from quorate.builtin.cluster import apply, validation
from quorate.builtin.cluster.families import BROKERS, GROUP, LIVENESS
from quorate.plugin import (
    Access,
    NodeApi,
    Query,
    Reader,
    Resource,
    Serving,
    Storage,
    Timer,
    Verb,
    View,
    keys,
)
from quorate.plugin.advanced import constant_key
from quorate.plugin.checking import LARGEST_PAGE, PAGE
from quorate.v1 import cluster_pb2 as pb

#: Maximum number of brokers in a list: the largest page, and one that shows that more follow.
LONGEST_LIST: Final = LARGEST_PAGE + 1


def list_brokers(reader: Reader, query: pb.ListBrokers) -> Iterator[pb.Broker]:
    """Yield the matching brokers, up to the limit."""
    wanted = min(query.limit or LONGEST_LIST, LONGEST_LIST)
    start, end = keys.prefix()
    if query.after_name:
        start = keys.successor(keys.pack(query.after_name))
    brokers = (pb.Broker.FromString(row.value) for row in reader.scan(BROKERS, start, end))
    yield from islice((broker for broker in brokers if _fits(broker, query)), wanted)


def _fits(broker: pb.Broker, query: pb.ListBrokers) -> bool:
    return (
        query.cluster_name in ("", broker.cluster_name)
        and (not query.role or query.role in broker.roles)
        and all(broker.labels.get(label) == value for label, value in query.labels.items())
    )


class BrokerPages:
    """Lists brokers by their roles and labels, in pages that begin after a name."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def List(self, request: pb.ListBrokersRequest, context: object) -> pb.ListBrokersResponse:
        """List a page of the matching brokers."""
        validation.check_list(request)
        size = min(request.page_size or PAGE, LARGEST_PAGE)
        query = pb.ListBrokers(
            cluster_name=request.cluster_name,
            role=request.role,
            labels=request.labels,
            after_name=request.page_token,
            limit=size + 1,
        )
        answers = self._node.query(
            query,
            pb.Broker,
            consistency="stale" if request.stale else "linearizable",
            min_revision=request.min_revision,
        )
        found = [broker async for broker in answers]
        page = found[:size]
        more = len(found) > size
        return pb.ListBrokersResponse(brokers=page, next_page_token=page[-1].name if more else "")


LIST: Final = Query(message=pb.ListBrokers, group=GROUP, run=list_brokers, shard_key=constant_key)

#: A new leader hears heartbeats for a whole TTL before it ends any registration.
LIFE: Final = Timer(
    name=LIVENESS, group=GROUP, due=lambda due: pb.ExpireBrokers(keys=due), liveness=True
)

#: Brokers are few, and all of them lie in one shard.
BROKER: Final = Resource(
    family=BROKERS,
    row=pb.Broker,
    service=pb.DESCRIPTOR.services_by_name["ClusterService"],
    serving=Serving(servicer=BrokerPages, access={"List": Access(right="read", domain=BROKERS)}),
    key=("name",),
    check_key={"name": validation.check_text},
    storage=Storage(mirrored=True),
    view=View(cli=False),
    verbs={
        "Register": Verb(
            apply=apply.register,
            check=validation.check_registration,
            examples=(
                pb.RegisterBroker(name="broker-2", cluster_name="south", ttl_ms=30_000),
                pb.RegisterBroker(
                    name="broker-1",
                    cluster_name="north",
                    roles=["mqtt", "engine"],
                    labels={"zone": "a", "rack": "7"},
                    addresses={"mqtt": "127.0.0.1:1883", "grpc": "127.0.0.1:9981"},
                ),
            ),
        ),
        "Heartbeat": Verb(
            apply=apply.take_heartbeat,
            check=validation.check_epoch,
            examples=(
                pb.SendHeartbeat(name="broker-1", epoch=2),
                pb.SendHeartbeat(name="broker-2", epoch=3),
            ),
        ),
        "Unregister": Verb(
            apply=apply.unregister,
            check=validation.check_epoch,
            examples=(pb.UnregisterBroker(name="broker-2", epoch=1),),
        ),
        "Expire": Verb(
            apply_all=apply.expire,
            message=pb.ExpireBrokers,
            examples=(keys.pack("broker-1", 4), keys.pack("broker-2", 3)),
        ),
    },
)
