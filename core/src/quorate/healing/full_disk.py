"""Hands the leaderships of this node over while its disk is nearly full."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from quorate.consensus.refusals import RefusedError
from quorate.shards.shard.leader_transfer import heir_of, is_majority_without
from quorate.shards.timing import Background, every
from quorate.topology.replicas.node_shards import NodeShards

_log = logging.getLogger(__name__)

_LOOK_S: Final = 0.25
#: Maximum number of transfers to begin in one look.
_AT_ONCE: Final = 100


@dataclass(eq=False)
class FullDisk(Background):
    """Transfers leaderships away from a full disk, as long as a majority has room.

    Clients then write elsewhere, instead of being refused here. `shortage` returns why this node
    refuses writes, or None; `is_full` whether another node would refuse them. The balance of
    leaders brings the leaderships back.
    """

    _shards: NodeShards
    _shortage: Callable[[], str | None]
    _is_full: Callable[[str], bool]
    #: Whether the disk was short of space at the last look.
    _short: bool = field(default=False, init=False)

    async def _run(self) -> None:
        failed = "cannot hand over leaderships while the disk is nearly full; trying again"
        await every(self._loop, _LOOK_S, self._look, failed)

    def _look(self) -> None:
        why = self._shortage()
        if self._short != (why is not None):
            self._short = why is not None
            _log.warning("%s", why or "there is room on this node's disk again")
        if why is None:
            return
        begun = 0
        for shard in self._shards.leading():
            if begun == _AT_ONCE:
                return
            # Without a majority with room a new leader could commit nothing, nor answer reads.
            if not shard.leads or not is_majority_without(shard, self._is_full):
                continue
            if (heir := heir_of(shard, self._is_full)) is not None:
                # A transfer is under way, or the heir is not a voter any more.
                with suppress(RefusedError):
                    shard.transfer(heir)
                    begun += 1
