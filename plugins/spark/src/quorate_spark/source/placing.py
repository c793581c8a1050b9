"""Loads by files, on the driver: whether one can be, and the end of it on every shard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from quorate.client import Client, RejectedError
from quorate.v1 import files_pb2 as pb, view_pb2 as views

from quorate_spark.client import Loads
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import WriteOptions
from quorate_spark.source.shards import ShardPlan, plan_of
from quorate_spark.source.tables import FoundTable
from quorate_spark.source.uploading import opened_sets, set_name

if TYPE_CHECKING:
    from quorate_spark.source.filing import Filed

_FILES: Final = "/quorate.v1.FileService"
_VIEWS: Final = "/quorate.v1.ViewService"
_HASH_BYTES: Final = 8


def by_files(client: Client, options: WriteOptions, found: FoundTable) -> bool:
    """Whether a load is one by files; raises `SourceError` when it is to be, and cannot."""
    if options.load_mode == "rpc":
        return False
    known = Loads(client).get(options.load_id)
    if options.load_mode == "auto" and known is not None:
        return known.load.by_files
    why = _impossible(found)
    if why and options.load_mode == "files":
        raise SourceError(f"{options.table} cannot be loaded by files: {why}")
    if why:
        return False
    return options.load_mode == "files" or _is_empty(client, found)


def opened(client: Client, options: WriteOptions, found: FoundTable) -> dict[int, bytes]:
    """Open a file set on every shard of a table."""
    plan = plan_of(client.topology(), found.group)
    return client.thread.run(
        opened_sets(
            client.asynchronous,
            found.group,
            {shard: plan.some_key(shard) for shard in sorted(plan.leaders)},
            set_name(options.load_id),
            found.write.message.DESCRIPTOR.full_name,
        )
    )


def put_in_place(
    client: Client, options: WriteOptions, found: FoundTable, filed: Sequence[Filed]
) -> None:
    """Put what all partitions have sent in place; raises `SourceError` and `QuorateError`."""
    # Whoever takes loads back needs none of these.
    import pyarrow as pa
    import pyarrow.compute as pc

    from quorate_spark.source.filing import duplicate

    hashes = b"".join(part for each in filed for of in each.shards.values() for part in of.hashes)
    count = len(hashes) // _HASH_BYTES
    numbers = pa.Array.from_buffers(pa.uint64(), count, [None, pa.py_buffer(hashes)])
    if pc.count_distinct(numbers).as_py() != count:
        raise duplicate(options.load_id, "partitions have")
    plan = plan_of(client.topology(), found.group)
    requests = [
        _request(options, found, shard, filed)
        for shard in sorted({shard for each in filed for shard in each.shards})
    ]
    for request in requests:
        try:
            client.call(
                f"{_FILES}/Ingest",
                request,
                pb.IngestFilesResponse,
                group=found.group,
                shard_key=plan.some_key(request.shard),
                # Once ingested it is answered in the same way.
                read=True,
                timeout_s=options.timeout_s,
            )
        except RejectedError as error:
            raise SourceError(
                f"load {options.load_id} is not put in place on shard {found.group}/"
                f"{request.shard}: {error}"
            ) from error


def dropped(
    client: Client, load_id: str, plan: ShardPlan, shard: int, *, forget: bool = False
) -> None:
    """End the file set of a load on a shard, or forget it."""
    drop = pb.DropFileSet(name=set_name(load_id), forget=forget)
    client.call(
        f"{_FILES}/Drop",
        pb.DropFilesRequest(group=plan.group, shard=shard, drop=drop),
        pb.DropFilesResponse,
        group=plan.group,
        shard_key=plan.some_key(shard),
        read=True,
    )


def _request(
    options: WriteOptions, found: FoundTable, shard: int, filed: Sequence[Filed]
) -> pb.IngestFilesRequest:
    parts = [each.shards[shard] for each in filed if shard in each.shards]
    slots, counts = 0, Counter[str]()
    for part in parts:
        slots |= int.from_bytes(part.bitmap, "little")
        counts.update(part.counts)
    return pb.IngestFilesRequest(
        group=found.group,
        shard=shard,
        ingest=pb.IngestFileSet(
            name=set_name(options.load_id),
            files=[pb.SortedFile.FromString(file) for part in parts for file in part.files],
            slots=slots.to_bytes(len(parts[0].bitmap), "little"),
            counts=[pb.ItemCount(name=name, items=items) for name, items in sorted(counts.items())],
        ),
    )


def _impossible(found: FoundTable) -> str:
    if found.table.files is None:
        return "its plugin makes rows by commands alone, which look at the rows in place"
    if find_spec("rocksdict") is None:
        return 'rocksdict is not installed: pip install "quorate[server]" here and on executors'
    return ""


def _is_empty(client: Client, found: FoundTable) -> bool:
    """Whether no shard has a row of a table; False where that may not be asked."""
    plan = plan_of(client.topology(), found.group)
    for shard, leader in plan.leaders.items():
        node = client.at(leader)
        request = views.OpenViewRequest(family=found.table.family, shard=shard)
        try:
            view = node.call(f"{_VIEWS}/Open", request, views.OpenViewResponse)
        except RejectedError:
            return False
        node.call(
            f"{_VIEWS}/Close", views.CloseViewRequest(view=view.view), views.CloseViewResponse
        )
        if view.HasField("first"):
            return False
    return True
