"""Loads by files on the driver: whether a load can use files, and its end on every shard."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from quorate.client import Client, RejectedError
from quorate.plugin.slots import BITMAP_BYTES
from quorate.v1 import files_pb2 as pb

from quorate_spark.client import Loads
from quorate_spark.source.errors import SourceError
from quorate_spark.source.options import WriteOptions
from quorate_spark.source.shards import ShardPlan, plan_of, viewed
from quorate_spark.source.tables import FoundTable, find
from quorate_spark.source.uploading import opened_sets, set_name
from quorate_spark.v1.commands_pb2 import EndLoadCommand
from quorate_spark.v1.rows_pb2 import Load

if TYPE_CHECKING:
    from quorate_spark.source.filing import Filed

_FILES: Final = "/quorate.v1.FileService"
_HASH_BYTES: Final = 8
#: Time for which an abort waits for a publication in progress.
_PUBLISHED_S: Final = 60.0
_AGAIN_S: Final = 0.2


def opened(client: Client, options: WriteOptions, found: FoundTable) -> dict[int, bytes] | None:
    """Open a file set on every shard of a table; None for a load by commands.

    Raises `SourceError` for a load that is to be one by files and cannot, and `QuorateError`.
    """
    if options.load_mode == "rpc":
        return None
    known = Loads(client).get(options.load_id)
    goes_on = known is not None and known.load.by_files
    why = _impossible(found)
    if why and (goes_on or options.load_mode == "files"):
        raise SourceError(f"{options.table} cannot be loaded by files: {why}")
    chooses = options.load_mode == "auto" and not goes_on
    if chooses and (why or known is not None or not _is_empty(client, found)):
        return None
    plan = plan_of(client.topology(), found.group)
    opening = opened_sets(
        client.asynchronous,
        found.group,
        {shard: plan.some_key(shard) for shard in sorted(plan.leaders)},
        set_name(options.load_id),
        found.write.message.DESCRIPTOR.full_name,
    )
    try:
        return client.thread.run(opening)
    except RejectedError as error:
        if options.load_mode == "auto" and error.code == "PERMISSION_DENIED":
            return None
        raise


def put_in_place(
    client: Client, options: WriteOptions, found: FoundTable, filed: Sequence[Filed]
) -> None:
    """Install the files of all partitions, or stage them for `publish`.

    Raises `SourceError` and `QuorateError`.
    """
    # An abort needs none of these.
    import pyarrow as pa
    import pyarrow.compute as pc

    from quorate_spark.source.filing import duplicate

    hashes = b"".join(part for each in filed for of in each.shards.values() for part in of.hashes)
    count = len(hashes) // _HASH_BYTES
    numbers = pa.Array.from_buffers(pa.uint64(), count, [None, pa.py_buffer(hashes)])
    if pc.count_distinct(numbers).as_py() != count:
        raise duplicate(options.load_id, "partitions have")
    plan = plan_of(client.topology(), found.group)
    atomic = options.publish != "shards"
    # Every shard takes part in a publication.
    shards = plan.leaders if atomic else {shard for each in filed for shard in each.shards}
    requests = [_request(options, found, shard, filed) for shard in sorted(shards)]
    # Learn of a shard's refusal before another shard has its rows.
    for check_only in (False,) if atomic else (True, False):
        for request in requests:
            request.check_only, request.ingest.stage = check_only, atomic
            _ingest(client, options, plan, request)


def publish(client: Client, load_id: str, timeout_s: float) -> Load:
    """Make the rows of a staged load visible in all shards atomically; return the load.

    Raises `SourceError` when none is, and `QuorateError`; it may be repeated.
    """
    view = Loads(client).get(load_id)
    if view is None:
        raise SourceError(f"there is no load {load_id}; see `quorate spark load list`")
    if view.load.state == Load.FINISHED and view.load.atomic:
        return view.load
    if view.load.state != Load.STAGED:
        state = Load.State.Name(view.load.state).lower()
        raise SourceError(
            f"load {load_id} is {state}, and only a staged load can be published: one of a job with"
            " the option publish that has ended"
        )
    found = find(view.load.table)
    request = pb.PublishFilesRequest(
        group=found.group, name=set_name(load_id), command=found.write.message.DESCRIPTOR.full_name
    )
    try:
        client.call(
            f"{_FILES}/Publish",
            request,
            pb.PublishFilesResponse,
            # A repeated call is answered in the same way.
            read=True,
            timeout_s=timeout_s,
        )
    except RejectedError as error:
        raise SourceError(
            f"load {load_id} is not published, and none of its rows is seen: {error}. Publish it"
            " again, or abort it"
        ) from error
    return client.execute(EndLoadCommand(load_id=load_id), Load)


def _ingest(
    client: Client, options: WriteOptions, plan: ShardPlan, request: pb.IngestFilesRequest
) -> None:
    try:
        client.call(
            f"{_FILES}/Ingest",
            request,
            pb.IngestFilesResponse,
            group=plan.group,
            shard_key=plan.some_key(request.shard),
            # A repeated call is answered in the same way.
            read=True,
            timeout_s=options.timeout_s,
        )
    except RejectedError as error:
        raise SourceError(
            f"load {options.load_id} is not put in place on shard {plan.group}/{request.shard}:"
            f" {error}"
        ) from error


def dropped(
    client: Client, load_id: str, plan: ShardPlan, shard: int, *, forget: bool = False
) -> None:
    """End the file set of a load on a shard, or forget it."""
    drop = pb.DropFileSet(name=set_name(load_id), forget=forget)
    until_s = time.monotonic() + _PUBLISHED_S
    while True:
        try:
            client.call(
                f"{_FILES}/Drop",
                pb.DropFilesRequest(group=plan.group, shard=shard, drop=drop),
                pb.DropFilesResponse,
                group=plan.group,
                shard_key=plan.some_key(shard),
                read=True,
            )
        except RejectedError as error:
            # It was published at the same time, or was not: the shard knows that soon.
            if error.code != "PUBLISHING" or time.monotonic() > until_s:
                raise
            time.sleep(_AGAIN_S)
        else:
            return


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
            slots=slots.to_bytes(BITMAP_BYTES, "little"),
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
    try:
        for shard in plan.leaders:
            with viewed(client, plan, found.table.family, shard) as view:
                if view.HasField("first"):
                    return False
    except RejectedError:
        return False
    return True
