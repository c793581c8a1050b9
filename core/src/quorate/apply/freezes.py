"""The freeze of a shard that is being merged: from that entry on, its rows do not change."""

from typing import Final

from quorate.apply.layers import Layer, Rows
from quorate.storage.families import SLOTS
from quorate.v1.control_pb2 import FrozenShard

#: In the family `core.slots`.
FROZEN: Final = b"frozen"

#: Why a shard is not frozen: it can be soon.
NOT_YET: Final = "NOT_FROZEN_YET"


def frozen(rows: Rows) -> FrozenShard | None:
    """Return how a shard is frozen; None if it is not."""
    row = rows.get(SLOTS, FROZEN)
    return None if row is None else FrozenShard.FromString(row)


def freeze(layer: Layer, state: FrozenShard) -> None:
    """Freeze a shard."""
    layer.put(SLOTS, FROZEN, state.SerializeToString(deterministic=True))


def thaw(layer: Layer) -> None:
    """Let a shard go on."""
    if layer.get(SLOTS, FROZEN) is not None:
        layer.delete(SLOTS, FROZEN)
