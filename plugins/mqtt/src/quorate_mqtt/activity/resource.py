"""What the counting of activity declares."""

from typing import Final

from quorate.plugin import DataRoute, Query

from quorate_mqtt.activity import apply, controllers, queries
from quorate_mqtt.activity.families import FAMILIES
from quorate_mqtt.batches import Batch
from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.activity_pb2 import CollectActivity, ListActivity

_COLLECTION: Final = Batch[bytes](message=CollectActivity, field="probes")

RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(_COLLECTION.command(key=lambda probe: probe, examples=([b"probe 1"],)),),
    routes=(DataRoute(message=CollectActivity, apply=apply.collect_activity),),
    queries=(
        Query(message=ListActivity, group=GROUP, run=queries.list_activity, order=queries.order),
    ),
    controllers=(controllers.COLLECTING,),
    metrics=controllers.METRICS,
)
