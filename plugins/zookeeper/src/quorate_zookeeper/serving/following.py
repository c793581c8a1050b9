"""Follows the transactions of the tree on this node, in the order of their zxids."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from quorate.plugin import NodeApi, RowEvent
from quorate.plugin.advanced import Complaints

from quorate_zookeeper.families import TRANSACTIONS
from quorate_zookeeper.v1 import rows_pb2 as rows

_log = logging.getLogger(__name__)

_RETRY_S: Final = 0.2


class Follower:
    """Passes each transaction to `happened` once, and then advances to its zxid.

    Calls `passed` whenever the zxid has risen. When transactions may have been missed, it calls
    `lost` and starts over, as must everything that relied on it.
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
        #: The zxid of the last transaction passed on.
        self.zxid = 0
        self._complaints: Final = Complaints(
            _log, "cannot follow the tree of znodes, serving no clients until it can"
        )
        #: Whether the zxid is that of a state of this node.
        self.live = False

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            try:
                await self._follow()
            except Exception as error:  # noqa: BLE001 - a later attempt may succeed
                self._complaints.complain(error, worked=self.live)
            if self.live:
                self.live = False
                self._lost()
            await asyncio.sleep(_RETRY_S)

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
