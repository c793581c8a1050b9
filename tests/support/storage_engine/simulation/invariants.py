"""What must hold of rows, disks and acknowledged records, whatever happened."""

from __future__ import annotations

from collections.abc import Mapping

from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment

from tests.support.plugin_world import Violation
from tests.support.storage_engine.simulation.engine import Engine, Held, Record, held_of


def check_row(before: Segment | None, after: Segment) -> None:
    """A row is well formed, and its epochs never go back."""
    if after.status == SEGMENT_STATUS_DELETING:
        return
    replicas, isr = list(after.replicas), list(after.isr)
    if len(set(replicas)) < len(replicas) or len(set(isr)) < len(isr):
        raise Violation(f"an engine twice in {after}")
    if not set(isr) <= set(replicas) or not set(after.last_known_isr) <= set(replicas):
        raise Violation(f"in sync outside the replicas: {after}")
    if (after.leader in isr) != bool(after.leader) or bool(isr) != bool(after.leader):
        raise Violation(f"in-sync replicas without their leader: {after}")
    if not after.leader and not after.last_known_isr:
        raise Violation(f"nobody is known to hold the segment: {after}")
    if before is None or before.shard_uid != after.shard_uid:
        return
    if after.leader_epoch < before.leader_epoch or after.segment_epoch < before.segment_epoch:
        raise Violation(f"an epoch went back from {before} to {after}")
    if after.leader and after.leader != before.leader and after.leader_epoch == before.leader_epoch:
        raise Violation(f"another leader under the same epoch: {before}, {after}")


def check_acknowledged(
    row: Segment, engines: Mapping[str, Engine], acknowledged: Mapping[Held, list[Record]]
) -> None:
    """Whoever is in sync, or was at last, holds every acknowledged record."""
    if row.status == SEGMENT_STATUS_DELETING:
        return
    records = acknowledged.get(held_of(row), [])
    for name in (*row.isr, *row.last_known_isr):
        log = engines[name].disk.get(held_of(row), [])
        if log[: len(records)] != records:
            raise Violation(
                f"{name} is in sync in segment {row.number} of {row.shard} and lacks "
                f"acknowledged records: it holds {log}, and {records} are acknowledged"
            )
    if row.HasField("end_offset") and row.end_offset < row.start_offset + len(records):
        raise Violation(f"sealed at {row.end_offset} before the acknowledged end: {row}")
