"""A change of the members of a shard, from the log to its outcome."""

import asyncio
from collections.abc import Callable
from typing import Final

from quorate.consensus.membership import Configuration
from quorate.consensus.status import Proposed
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnansweredInTimeError
from quorate.shards.shard.writes import Fate, Flights


class MemberChanges:
    """Proposes configurations; `propose` logs one, and returns None if the log failed."""

    def __init__(
        self,
        shard: ShardId,
        loop: asyncio.AbstractEventLoop,
        flights: Flights,
        propose: Callable[[Configuration], Proposed | None],
        *,
        timeout_s: float,
    ) -> None:
        self._members: Final = f"the members of shard {shard}"
        self._loop: Final = loop
        self._flights: Final = flights
        self._propose: Final = propose
        self._timeout_s: Final = timeout_s

    def change(
        self, configuration: Configuration, timeout_s: float | None = None
    ) -> asyncio.Future[int]:
        """Return the index of the new configuration once it is committed and applied here.

        Raises the replica's refusal; ends with `NotProposedError` if another entry replaced it, or
        with `OutcomeUnknownError`, at the timeout as `UnansweredInTimeError`.
        """
        changed: asyncio.Future[int] = self._loop.create_future()

        def settle(fate: Fate) -> None:
            if changed.done():
                return
            if fate is Fate.APPLIED and proposed is not None:
                changed.set_result(proposed.index)
            elif fate is Fate.DISCARDED:
                changed.set_exception(
                    NotProposedError(f"{self._members} did not change: its leader was lost")
                )
            else:
                changed.set_exception(
                    OutcomeUnknownError(
                        f"whether {self._members} changed is not known here: look at them on"
                        " another node"
                    )
                )

        def expire() -> None:
            if not changed.done():
                why = f"{self._members} were about to change when the time was over"
                changed.set_exception(
                    UnansweredInTimeError(f"{why}, and may change yet: look at them")
                )

        proposed = self._propose(configuration)
        if proposed is not None:
            timeout = self._timeout_s if timeout_s is None else timeout_s
            timer = self._loop.call_later(timeout, expire)
            changed.add_done_callback(lambda _: timer.cancel())
            self._flights.follow(proposed, settle)
        else:
            settle(Fate.UNKNOWN)
        return changed
