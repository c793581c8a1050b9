"""What the reads of rows declare."""

from typing import Final

from quorate.plugin import Query

from quorate_mqtt.resource import Resource
from quorate_mqtt.rows import queries
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.rows_pb2 import GetRowQuery, GetRowsQuery, ListAllRowsQuery, ListRowsQuery

RESOURCE: Final = Resource(
    queries=(
        Query(
            message=GetRowQuery,
            group=GROUP,
            run=queries.get_row,
            shard_key=lambda query: query.shard_key,
        ),
        Query(message=GetRowsQuery, group=GROUP, run=queries.get_rows, order=queries.order),
        Query(
            message=ListRowsQuery,
            group=GROUP,
            run=queries.list_rows,
            shard_key=lambda query: query.shard_key,
        ),
        Query(message=ListAllRowsQuery, group=GROUP, run=queries.list_rows, order=queries.order),
    )
)
