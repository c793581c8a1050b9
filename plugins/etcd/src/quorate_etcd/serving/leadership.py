"""Calls that need a leader: without one they are refused at once, and their streams end.

A client asks for it with `hasleader` in the metadata. A call without waits for the next leader.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from quorate.plugin.advanced import NotProposedError

from quorate_etcd import errors
from quorate_etcd.serving.identity import Identity

#: A stream ends after so many looks without a leader; a look takes an election of a stock server.
_LOOKS: Final = 3
_LOOK_S: Final = 1.0
_REQUIRED: Final = ("hasleader", "true")
_END: Final = object()


class Leadership:
    """Watches whether the shard of a store has a leader, as far as this node knows."""

    def __init__(self, identity: Identity) -> None:
        self._identity: Final = identity
        #: The streams that wait for their next answer.
        self._waiting: Final[set[asyncio.Timeout]] = set()

    async def run(self) -> None:
        """End streams for ever when there is no leader for some time."""
        loop = asyncio.get_running_loop()
        missing = 0
        while True:
            await asyncio.sleep(_LOOK_S)
            missing = 0 if self.known else missing + 1
            if missing >= _LOOKS:
                for each in self._waiting:
                    each.reschedule(loop.time())

    @property
    def known(self) -> bool:
        """Whether there is a leader."""
        try:
            return bool(self._identity.leader)
        except NotProposedError:
            # The cluster is being founded.
            return False

    def demand(self) -> None:
        """Refuse a call while there is none."""
        if not self.known:
            errors.NO_LEADER.refuse()

    async def while_led(self, serving: Any) -> AsyncGenerator[Any, None]:
        """Yield the answers of a stream, which ends without a leader."""
        async with aclosing(serving) as answers:
            while (each := await self._next(answers)) is not _END:
                yield each

    async def _next(self, answers: Any) -> Any:
        try:
            async with asyncio.timeout(None) as bound:
                self._waiting.add(bound)
                try:
                    return await anext(answers, _END)
                finally:
                    self._waiting.discard(bound)
        except TimeoutError:
            if bound.expired():
                errors.NO_LEADER.refuse()
            raise


def requires_leader(context: Any) -> bool:
    """Whether a caller asks for a leader."""
    return _REQUIRED in context.invocation_metadata()
