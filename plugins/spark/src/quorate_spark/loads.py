"""Bulk loads: their rows and reads."""

from collections.abc import Iterator
from typing import Any, Final

from quorate.plugin import (
    Access,
    ColumnFamily,
    GrpcService,
    Invalid,
    NodeApi,
    Query,
    Reader,
    Row,
    keys,
)
from quorate.plugin.advanced import METADATA_GROUP, constant_key
from quorate.plugin.checking import LARGEST_PAGE, PAGE

from quorate_spark.v1 import (
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as requests,
)

GROUP: Final = METADATA_GROUP.name
LOADS: Final = "spark.loads"
PARTITIONS: Final = "spark.partitions"
FAMILIES: Final = (
    ColumnFamily(name=LOADS, group=GROUP, row=rows.Load),
    ColumnFamily(name=PARTITIONS, group=GROUP, row=rows.LoadPartition),
)
LONGEST_ID: Final = 200


def load_key(load_id: str) -> bytes:
    """Return the key of a load."""
    return keys.pack(load_id)


def partition_key(load_id: str, partition: int) -> bytes:
    """Return the key of a part of a load."""
    return keys.pack(load_id, partition)


def check_load_id(command: Any) -> None:
    """Refuse an invalid load id."""
    size = len(command.load_id.encode())
    if not command.load_id.strip():
        raise Invalid("load_id", "must not be empty")
    if size > LONGEST_ID:
        raise Invalid("load_id", f"must have at most {LONGEST_ID} bytes, not {size}")


def get_load(reader: Reader, query: asked.GetLoadQuery) -> Iterator[asked.LoadView]:
    """Yield a load with its parts, if there is one."""
    row = reader.get_row(LOADS, load_key(query.load_id))
    if row is not None:
        yield _view(reader, row, with_parts=True)


def list_loads(reader: Reader, query: asked.ListLoadsQuery) -> Iterator[asked.LoadView]:
    """Yield loads in the order of their ids."""
    start, end = keys.prefix()
    if query.after:
        start = keys.successor(load_key(query.after))
    most = min(query.limit or LARGEST_PAGE, LARGEST_PAGE)
    for row in reader.scan(LOADS, start, end, limit=most):
        yield _view(reader, row, with_parts=False)


def _view(reader: Reader, row: Row, *, with_parts: bool) -> asked.LoadView:
    view = asked.LoadView(load=rows.Load.FromString(row.value))
    for stored in reader.scan(PARTITIONS, *keys.prefix(view.load.load_id)):
        part = rows.LoadPartition.FromString(stored.value)
        view.rows += part.rows
        view.bad_rows += part.bad_rows
        view.batches += part.batches
        view.row_bytes += part.row_bytes
        view.partitions += 1
        view.partitions_finished += part.finished
        if with_parts:
            view.parts.append(part)
    return view


class LoadService:
    """Serves reads of loads on every node."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def GetLoad(
        self, request: requests.GetLoadRequest, context: object
    ) -> requests.GetLoadResponse:
        """Return one load and its parts."""
        check_load_id(request)
        query = asked.GetLoadQuery(load_id=request.load_id)
        async for load in self._node.query(query, asked.LoadView):
            return requests.GetLoadResponse(load=load)
        return requests.GetLoadResponse()

    async def ListLoads(
        self, request: requests.ListLoadsRequest, context: object
    ) -> requests.ListLoadsResponse:
        """List a page of the loads."""
        if len(request.page_token.encode()) > LONGEST_ID:
            raise Invalid("page_token", "was not given by a page before")
        size = min(request.page_size or PAGE, LARGEST_PAGE)
        query = asked.ListLoadsQuery(after=request.page_token, limit=size)
        page = [load async for load in self._node.query(query, asked.LoadView)]
        # The page after the last one is empty.
        token = page[-1].load.load_id if len(page) == size else ""
        return requests.ListLoadsResponse(loads=page, next_page_token=token)


SERVICE: Final = GrpcService(
    service=requests.DESCRIPTOR.services_by_name["LoadService"],
    servicer=LoadService,
    access={
        "GetLoad": Access(right="read", key="load_id"),
        "ListLoads": Access(right="read"),
    },
)


QUERIES: Final[tuple[Query[Any], ...]] = (
    Query(message=asked.GetLoadQuery, group=GROUP, run=get_load, shard_key=constant_key),
    Query(message=asked.ListLoadsQuery, group=GROUP, run=list_loads, shard_key=constant_key),
)
