"""Aborts and forgets loads, on every shard of their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any, Final

from quorate.client import Client, RejectedError
from quorate.v1 import view_pb2 as views
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.files_pb2 import OpenFilesResponse

from quorate_spark.client import Loads
from quorate_spark.source import placing
from quorate_spark.source.errors import SourceError
from quorate_spark.source.shards import VIEWS, ShardPlan, plan_of, session_name, viewed
from quorate_spark.source.tables import FoundTable, find
from quorate_spark.source.uploading import opened_sets, set_name
from quorate_spark.v1.queries_pb2 import LoadView

#: Rows that are deleted with one command: few, for a shard that is busy as well.
_BATCH: Final = 250
#: How an item is refused whose row was changed or deleted since; plugins may say of what there is
#: none, as in CONNECTOR_NOT_FOUND.
_CHANGED: Final = ("REVISION_MISMATCH", "NOT_FOUND")
#: Refusals that end by themselves. A deletion names the revision, so that it may be repeated.
_PASSING: Final = frozenset(
    {"RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "OUTCOME_UNKNOWN", "ABORTED"}
)
#: How long such refusals may go on without one row being deleted, and the pause before each try.
_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.25


def abort(client: Client, load_id: str, progress: Callable[[int], object]) -> int:
    """Delete the rows of an insert-only load that have not changed since.

    Return their number. It may be interrupted at any point and repeated. `progress` is called with
    the number of further rows examined.
    """
    load = _demand(client, load_id)
    found = find(load.load.table)
    # A load whose rows cannot be deleted stays as it is.
    found.deletion()
    loads = Loads(client)
    # From here on no part of it begins, so all that have are known.
    loads.begin_abort(load_id)
    load = _demand(client, load_id)
    plan = plan_of(client.topology(), found.group)
    removed = load.load.removed
    for shard in sorted(plan.leaders):
        written = _sealed(client, plan, shard, load)
        if load.load.by_files:
            written |= _unplaced(client, plan, found, shard, load_id)
        if written:
            removed += _remove(client, plan, found, shard, written, progress)
    loads.end_abort(load_id, removed)
    return removed


def forget(client: Client, load_id: str) -> None:
    """Forget a load: its id can be used again, and loads its rows anew."""
    load = _demand(client, load_id)
    plan = plan_of(client.topology(), find(load.load.table).group)
    sessions = client.asynchronous.sessions
    for shard in sorted(plan.leaders):
        if load.load.by_files:
            placing.dropped(client, load_id, plan, shard, forget=True)
        key = plan.some_key(shard)
        for part in load.parts:
            name = session_name(load_id, part.partition)
            client.thread.run(sessions.close(plan.group, key, name))
    Loads(client).forget(load_id)


def _demand(client: Client, load_id: str) -> LoadView:
    load = Loads(client).get(load_id)
    if load is None:
        raise SourceError(f"there is no load {load_id}; see `quorate spark load list`")
    return load


def _sealed(client: Client, plan: ShardPlan, shard: int, load: LoadView) -> set[int]:
    """Seal the sessions of all attempts, and return the revisions of their writes."""
    sessions = client.asynchronous.sessions
    key = plan.some_key(shard)
    revisions: set[int] = set()
    for part in load.parts:
        name = session_name(load.load.load_id, part.partition)
        revisions.update(client.thread.run(sessions.seal(plan.group, key, name)))
    return revisions


def _unplaced(
    client: Client, plan: ShardPlan, found: FoundTable, shard: int, load_id: str
) -> set[int]:
    """Refuse further files, and return the revision of the files that are in place."""
    name, command = set_name(load_id), found.write.message.DESCRIPTOR.full_name
    placing.dropped(client, load_id, plan, shard)
    key = {shard: plan.some_key(shard)}
    try:
        opened = client.thread.run(opened_sets(client.asynchronous, plan.group, key, name, command))
    except RejectedError as error:
        if error.code != "LOAD_ABORTED":
            raise
        return set()
    return {OpenFilesResponse.FromString(opened[shard]).set.revision}


def _delete(client: Client, found: FoundTable, items: Sequence[Any]) -> int:
    """Delete rows that are as they were loaded, and return how many were.

    A row that was changed since stays. Raises `SourceError` while any other one is left.
    """
    removal, deleted = found.deletion()
    left, removed, patience = items, 0, monotonic() + _PATIENCE_S
    while True:
        reply = client.execute(deleted.make(removal.delete(), left), BatchReply)
        refused = [each for each in reply.refusals if not each.code.endswith(_CHANGED)]
        gone = reply.items - len(reply.refusals)
        removed += gone
        if not refused:
            return removed
        lasting = next((each for each in refused if each.code not in _PASSING), None)
        if gone:
            patience = monotonic() + _PATIENCE_S
        if lasting is not None or monotonic() > patience:
            why = lasting or refused[0]
            raise SourceError(
                f"{len(refused)} rows of {found.name} could not be deleted ({why.code}: "
                f"{why.message}): the load is not taken back yet; repeat `quorate spark load abort`"
            )
        left = [left[each.item] for each in refused]
        sleep(_PAUSE_S)


def _remove(
    client: Client,
    plan: ShardPlan,
    found: FoundTable,
    shard: int,
    written: set[int],
    progress: Callable[[int], object],
) -> int:
    removal, _ = found.deletion()
    removed = 0
    node = client.at(plan.leaders[shard])
    with viewed(client, plan, found.table.family, shard) as view:
        reading = views.ReadViewRequest(view=view.view)
        for page in node.stream(f"{VIEWS}/Read", reading, views.ReadViewResponse):
            items = [
                removal.to_item(row.key, row.revision)
                for row in page.rows
                if row.revision in written
            ]
            for at in range(0, len(items), _BATCH):
                removed += _delete(client, found, items[at : at + _BATCH])
            progress(len(page.rows))
    return removed
