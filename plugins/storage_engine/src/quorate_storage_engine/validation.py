"""Checks of commands that need no rows; a bad command is rejected before it is logged."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_each as check_items, check_longest, check_range

from quorate_storage_engine.v1 import commands_pb2 as pb
from quorate_storage_engine.v1.rows_pb2 import ShardConfig, StorageType

LONGEST_TEXT: Final = 255
LONGEST_DESCRIPTION: Final = 1_000
#: The same limit as for MQTT topics.
LONGEST_TOPIC: Final = 3_072
MOST_REPLICAS: Final = 32
#: Shards that one command creates: placing one takes half a millisecond, and a node does nothing
#: else while it applies a command.
MOST_CREATED: Final = 200


def check_text(field: str, text: str) -> None:
    """Reject a text that is empty, too long, or not printable in one line."""
    if not text:
        raise Invalid(field, "must not be empty")
    check_wanted(field, text)


def check_wanted(field: str, text: str, longest: int = LONGEST_TEXT) -> None:
    """Reject a text that is too long or not printable in one line; it may be empty."""
    check_longest(field, text, longest)
    if not text.isprintable():
        raise Invalid(field, "must not hold control characters or line breaks")


def check_create_shard(command: pb.CreateShard, path: str = "") -> None:
    """Reject a shard without a name, or with an invalid configuration."""
    check_text(f"{path}name", command.name)
    check_wanted(f"{path}tenant", command.tenant)
    check_wanted(f"{path}topic", command.topic, LONGEST_TOPIC)
    check_wanted(f"{path}description", command.description, LONGEST_DESCRIPTION)
    _check_config(f"{path}config.", command.config)


def check_delete_shard(command: pb.DeleteShard, path: str = "") -> None:
    """Reject a deletion that names no shard."""
    check_text(f"{path}name", command.name)


def check_shard(command: Any, path: str = "") -> None:
    """Reject a segment that names no shard."""
    check_text(f"{path}shard", command.shard)


def check_claimed(command: Any, path: str = "") -> None:
    """Reject a command that names no shard, or has an incomplete leader claim."""
    check_shard(command, path)
    check_text(f"{path}claim.engine", command.claim.engine)
    _check_epoch(f"{path}claim.broker_epoch", command.claim.broker_epoch)
    if command.claim.leader_epoch == 0:
        raise Invalid(f"{path}claim.leader_epoch", "must be the leader epoch of the segment's row")


def check_update_segment_isr(command: pb.UpdateSegmentIsr, path: str = "") -> None:
    """Reject an in-sync set that is empty or too large, or names an engine twice."""
    check_claimed(command, path)
    _check_segment_epoch(command.segment_epoch, path)
    if not command.isr:
        raise Invalid(f"{path}isr", "must hold at least the leader")
    if len(command.isr) > MOST_REPLICAS:
        raise Invalid(f"{path}isr", f"must hold at most {MOST_REPLICAS} replicas")
    for position, member in enumerate(command.isr):
        check_text(f"{path}isr[{position}].engine", member.engine)
    if len({member.engine for member in command.isr}) < len(command.isr):
        raise Invalid(f"{path}isr", "must not name an engine twice")


def check_force_leader(command: pb.ForceLeader, path: str = "") -> None:
    """Reject an election that names no shard or engine, or lacks the epoch of the segment's row."""
    check_shard(command, path)
    check_text(f"{path}engine", command.engine)
    _check_segment_epoch(command.segment_epoch, path)


def check_acknowledge_drops(command: pb.AcknowledgeDrops) -> None:
    """Reject an acknowledgement that names no engine or broker epoch."""
    check_text("engine", command.engine)
    _check_epoch("broker_epoch", command.broker_epoch)


def _check_config(path: str, config: ShardConfig) -> None:
    check_range(f"{path}replicas", config.replicas, MOST_REPLICAS)
    if not 1 <= config.min_in_sync_replicas <= config.replicas:
        raise Invalid(
            f"{path}min_in_sync_replicas",
            f"must be from 1 to the number of replicas, {config.replicas}, "
            f"not {config.min_in_sync_replicas}",
        )
    if config.storage not in StorageType.values() or not config.storage:
        raise Invalid(f"{path}storage", "must be one of the storage types")


def _check_epoch(field: str, epoch: int) -> None:
    if epoch == 0:
        raise Invalid(field, "must be the epoch that the registration was answered with")


def _check_segment_epoch(epoch: int, path: str) -> None:
    if epoch == 0:
        raise Invalid(f"{path}segment_epoch", "must be the segment epoch of the segment's row")


def each(field: str, check: Callable[[Any, str], None], most: int = 0) -> Callable[[Any], None]:
    """Return a check that rejects a command with too many items or an invalid item, by position."""

    def check_each(command: Any) -> None:
        items: Sequence[Any] = getattr(command, field)
        if most and len(items) > most:
            raise Invalid(
                field,
                f"must be at most {most} {field}, not {len(items)}; send them in several requests",
            )
        check_items(field, items, check)

    return check_each


def check_engine(name: str, path: str) -> None:
    """Reject an engine without a name."""
    check_text(path.removesuffix("."), name)


#: Maximum number of rows of a list: the largest page, and one row to show that there are more.
LONGEST_LIST: Final = 1_001
#: Default limit of a controller's query.
FOUND: Final = 1_000
