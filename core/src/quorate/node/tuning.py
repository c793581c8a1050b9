"""Converts settings from the units of the file to the types of the lower rooms."""

from typing import Final

from quorate.apply.evaluator import EvaluationLimits
from quorate.apply.txn import ROW_SLACK
from quorate.config import LimitsSection, Settings
from quorate.consensus.peer.streams import StreamLimits
from quorate.consensus.timing import Limits, Timing
from quorate.control.growth import Bounds
from quorate.shards.shard.log_keeper import LogPolicy
from quorate.shards.shard.settings import ShardSettings

#: Room in an entry besides the effects of its largest command and the recorded answer.
_ENTRY_SLACK: Final = 1 << 20
_S: Final = 0.001
#: One caller that writes again as soon as it is answered writes within this time, and one that
#: waits for a follower to apply does not: its writes come no sooner than news do.
_FLOW_S: Final = 0.005


def entry_bytes(limits: LimitsSection) -> int:
    """Return the maximum size of an entry: the effects of every admitted command must fit."""
    return limits.effects_bytes + limits.reply_bytes + _ENTRY_SLACK


def shard_settings(settings: Settings) -> ShardSettings:
    """Return the settings of every shard of the node."""
    timing, storage = settings.timing, settings.storage
    return ShardSettings(
        timing=Timing(
            heartbeat_s=timing.heartbeat_ms * _S,
            election_min_s=timing.election_min_ms * _S,
            election_max_s=timing.election_max_ms * _S,
            news_s=timing.max_linger_ms * _S,
            flow_s=_FLOW_S,
            rest_s=timing.rest_ms * _S if timing.rest_ms else float("inf"),
        ),
        limits=Limits(entry_bytes=entry_bytes(settings.limits)),
        evaluation=EvaluationLimits(
            row_bytes=settings.limits.value_bytes + ROW_SLACK,
            effects_bytes=settings.limits.effects_bytes,
            reply_bytes=settings.limits.reply_bytes,
            writers=settings.audit.writers,
        ),
        log=LogPolicy(tail_entries=storage.log_tail_entries, tail_bytes=storage.log_tail_bytes),
        linger_s=timing.max_linger_ms * _S,
        behind_s=timing.max_behind_ms * _S,
        write_timeout_s=timing.write_timeout_ms * _S,
        slow_write_s=timing.slow_write_ms * _S,
    )


def split_bounds(settings: Settings) -> dict[str, Bounds]:
    """Return the bounds of automatic splits, by group with such bounds."""
    return {
        name: Bounds(
            rows=each.split_above_rows,
            bytes=each.split_above_bytes,
            writes=each.split_above_writes,
            shards=each.most_shards,
            pause_s=each.split_pause_s,
        )
        for name, each in settings.groups.items()
        if each.split_above_rows or each.split_above_bytes or each.split_above_writes
    }


def stream_limits(settings: Settings) -> StreamLimits:
    """Return the limits of streams between nodes."""
    return StreamLimits(entry_bytes=entry_bytes(settings.limits))
