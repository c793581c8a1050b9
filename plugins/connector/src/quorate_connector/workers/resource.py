"""What the workers declare."""

from typing import Final

from quorate.plugin import Command, DataRoute, Query, Timer

from quorate_connector.resource import Resource
from quorate_connector.shard import GROUP, shard_key
from quorate_connector.v1.task_queries_pb2 import ListWorkersQuery
from quorate_connector.v1.tasks_pb2 import DrainWorker, ExpireWorkers, UndrainWorker
from quorate_connector.workers import apply, queries
from quorate_connector.workers.brokers import BROKERS
from quorate_connector.workers.families import FAMILIES, LIVENESS, life_key
from quorate_connector.workers.validation import check_drain, check_undrain

RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        Command(
            message=DrainWorker,
            group=GROUP,
            shard_key=shard_key,
            validate=check_drain,
            public=True,
            examples=(DrainWorker(worker="worker-1", release_timeout_ms=5_000),),
        ),
        Command(
            message=UndrainWorker,
            group=GROUP,
            shard_key=shard_key,
            validate=check_undrain,
            public=True,
            examples=(UndrainWorker(worker="worker-1"),),
        ),
        Command(
            message=ExpireWorkers,
            group=GROUP,
            shard_key=shard_key,
            examples=(ExpireWorkers(keys=[life_key("worker-1", 1)]),),
        ),
    ),
    routes=(
        DataRoute(message=DrainWorker, apply=apply.drain_worker, reads=(BROKERS,)),
        DataRoute(message=UndrainWorker, apply=apply.undrain_worker, reads=(BROKERS,)),
        DataRoute(message=ExpireWorkers, apply=apply.expire_workers, reads=(BROKERS,)),
    ),
    queries=(
        Query(
            message=ListWorkersQuery,
            group=GROUP,
            run=queries.list_workers,
            shard_key=shard_key,
            reads=(BROKERS,),
        ),
    ),
    controllers=(
        Timer(
            name=LIVENESS,
            group=GROUP,
            due=lambda due: ExpireWorkers(keys=due),
            batch=500,
            liveness=True,
        ),
    ),
)
