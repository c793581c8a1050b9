"""A change of the members of a shard, from the log to its outcome."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from quorate.consensus.membership import Configuration
from quorate.consensus.status import Proposed
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnansweredInTimeError
from quorate.shards.shard.writes import Fate, Flights


@dataclass(eq=False)
class MemberChanges:
    """Proposes configurations; `propose` logs one, and returns None if the log failed."""

    _shard: ShardId
    _loop: asyncio.AbstractEventLoop
    _flights: Flights
    _propose: Callable[[Configuration], Proposed | None]
    _timeout_s: float

    def change(
        self, configuration: Configuration, timeout_s: float | None = None
    ) -> asyncio.Future[int]:
        """Return the index of the new configuration once it is committed and applied here.

        Raises the replica's refusal; ends with `NotProposedError` if another entry replaced it, or
        with `OutcomeUnknownError`, at the timeout as `UnansweredInTimeError`.
        """
        changed: asyncio.Future[int] = self._loop.create_future()
        members = f"the members of shard {self._shard}"

        def settle(fate: Fate) -> None:
            if changed.done():
                return
            if fate is Fate.APPLIED and proposed is not None:
                changed.set_result(proposed.index)
            elif fate is Fate.DISCARDED:
                changed.set_exception(
                    NotProposedError(f"{members} did not change: its leader was lost")
                )
            else:
                changed.set_exception(
                    OutcomeUnknownError(
                        f"whether {members} changed is not known here: look at them on another node"
                    )
                )

        def expire() -> None:
            if not changed.done():
                why = f"{members} were about to change when the time was over"
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
