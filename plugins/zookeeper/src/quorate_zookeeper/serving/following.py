"""Follows the transactions of the tree on this node, in the order of their zxids."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from quorate.plugin import NodeApi, RowEvent

from quorate_zookeeper.families import TRANSACTIONS
from quorate_zookeeper.v1 import rows_pb2 as rows

_log = logging.getLogger(__name__)

_RETRY_S: Final = 0.2


class Follower:
    """Passes each transaction to `happened` once, and then takes over its zxid.

    `passed` is called whenever the zxid has risen. When transactions may have been missed, `lost`
    is called, and the follower starts over, as must all that relied on it.
    """

    def __init__(
        self,
        node: NodeApi,
        happened: Callable[[int, rows.Transaction], None],
        passed: Callable[[], None],
        lost: Callable[[], None],
    ) -> None:
        self._node: Final = node
        self._happened: Final = happened
        self._passed: Final = passed
        self._lost: Final = lost
        #: That of the last transaction passed on.
        self.zxid = 0
        #: Why it could not follow, at the last attempt.
        self._complained = ""
        #: Whether the zxid is that of a state of this node.
        self.live = False

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            try:
                await self._follow()
            except Exception as error:  # noqa: BLE001 - what is wrong now may be right later
                self._complain(error)
            if self.live:
                self.live = False
                self._lost()
            await asyncio.sleep(_RETRY_S)

    def _complain(self, error: Exception) -> None:
        """Log why it cannot follow, once until something else is the reason or it could follow.

        What is not available yet, while a cluster is founded or has no leader, is no fault.
        """
        reason = f"{type(error).__name__}: {error}"
        if self.live or reason != self._complained:
            expected = hasattr(error, "code")
            _log.log(
                logging.INFO if expected else logging.WARNING,
                "cannot follow the tree of znodes, and serves no client until it can: %s",
                reason,
                exc_info=None if expected else error,
            )
        self._complained = reason

    async def _follow(self) -> None:
        async for seen in self._node.watch(TRANSACTIONS):
            event = seen.event
            if seen.resync:
                return
            if event is None:
                # The end of the list, or a bookmark.
                self.live = True
                self._passed()
            elif isinstance(event, RowEvent) and event.value is not None:
                if not self.live:
                    self.zxid = max(self.zxid, seen.revision)
                    continue
                transaction = rows.Transaction.FromString(event.value)
                self._happened(seen.revision, transaction)
                if not transaction.more:
                    self.zxid = seen.revision
                    self._passed()
