"""What is wrong with a command whatever the rows say; it is refused before it is logged."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_each as check_items, check_longest, check_range

from quorate_storage_engine.v1 import commands_pb2 as pb
from quorate_storage_engine.v1.rows_pb2 import ShardConfig, StorageType

LONGEST_TEXT: Final = 255
LONGEST_DESCRIPTION: Final = 1_000
#: As long as topics of MQTT are.
LONGEST_TOPIC: Final = 3_072
MOST_REPLICAS: Final = 32
#: Of shards that one command creates: to place one takes half a millisecond, and one command is
#: applied in one turn, in which a node does nothing else.
MOST_CREATED: Final = 200


def check_text(field: str, text: str) -> None:
    """Refuse a text that is empty, too long, or cannot be shown in one line."""
    if not text:
        raise Invalid(field, "must not be empty")
    check_wanted(field, text)


def check_wanted(field: str, text: str, longest: int = LONGEST_TEXT) -> None:
    """Refuse a text, which may be empty, that nothing can be called."""
    check_longest(field, text, longest)
    if not text.isprintable():
        raise Invalid(field, "must not hold control characters or line breaks")


def check_create_shard(command: pb.CreateShard, path: str = "") -> None:
    """Refuse a shard without a name, or with a configuration that nothing can fulfil."""
    check_text(f"{path}name", command.name)
    check_wanted(f"{path}tenant", command.tenant)
    check_wanted(f"{path}topic", command.topic, LONGEST_TOPIC)
    check_wanted(f"{path}description", command.description, LONGEST_DESCRIPTION)
    _check_config(f"{path}config.", command.config)


def check_delete_shard(command: pb.DeleteShard, path: str = "") -> None:
    """Refuse to delete nothing."""
    check_text(f"{path}name", command.name)


def check_shard(command: Any, path: str = "") -> None:
    """Refuse a segment of no shard."""
    check_text(f"{path}shard", command.shard)


def check_claimed(command: Any, path: str = "") -> None:
    """Refuse what names no shard, or nobody who could lead."""
    check_shard(command, path)
    check_text(f"{path}claim.engine", command.claim.engine)
    _check_epoch(f"{path}claim.broker_epoch", command.claim.broker_epoch)
    if command.claim.leader_epoch == 0:
        raise Invalid(f"{path}claim.leader_epoch", "must be the leader epoch of the segment's row")


def check_update_segment_isr(command: pb.UpdateSegmentIsr, path: str = "") -> None:
    """Refuse in-sync replicas that are none, or that name an engine twice."""
    check_claimed(command, path)
    _check_segment_epoch(command.segment_epoch, path)
    if not command.isr:
        raise Invalid(f"{path}isr", "must hold the leader at least")
    if len(command.isr) > MOST_REPLICAS:
        raise Invalid(f"{path}isr", f"must hold at most {MOST_REPLICAS} replicas")
    for position, member in enumerate(command.isr):
        check_text(f"{path}isr[{position}].engine", member.engine)
    if len({member.engine for member in command.isr}) < len(command.isr):
        raise Invalid(f"{path}isr", "must not name an engine twice")


def check_force_leader(command: pb.ForceLeader, path: str = "") -> None:
    """Refuse an election of nobody, or one that was not concluded from a row."""
    check_shard(command, path)
    check_text(f"{path}engine", command.engine)
    _check_segment_epoch(command.segment_epoch, path)


def check_acknowledge_drops(command: pb.AcknowledgeDrops) -> None:
    """Refuse an acknowledgement of nobody."""
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
    """Return what refuses a command of too many items, or with a wrong one, and says which."""

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
    """Refuse an engine without a name."""
    check_text(path.removesuffix("."), name)


#: The most that a list yields: a largest page, and one that tells that there are more.
LONGEST_LIST: Final = 1_001
#: What controllers find at a time, when they do not say how many.
FOUND: Final = 1_000
