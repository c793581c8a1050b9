"""Whether, when and where an operation is tried again."""

from __future__ import annotations

import asyncio
import random
from typing import Final, Literal

from quorate.client.errors import (
    DeadlineError,
    OutcomeUnknownError,
    QuorateError,
    UnansweredError,
)
from quorate.client.failures import AttemptError
from quorate.client.topology import Topology

#: A `stamped` write is carried out once however often it is sent.
Kind = Literal["read", "write", "stamped"]

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.5


class Attempts:
    """The failed attempts of one operation, until one succeeds or no further one is safe."""

    def __init__(self, topology: Topology, deadline: float, kind: Kind) -> None:
        self._topology: Final = topology
        #: On the loop's clock.
        self._deadline: Final = deadline
        self._kind: Final = kind
        self._count = 0
        #: The last thing that a node said: it says more than another one's silence.
        self._said = ""
        #: An attempt may have been carried out.
        self.lost = False

    async def after(self, failure: AttemptError, address: str = "") -> None:
        """Return when it may be tried again; otherwise raises the error for its caller."""
        moved = self._learn(failure, address)
        if not failure.unreachable:
            self._said = failure.why
        if failure.retry == "never":
            raise self._refused(failure)
        if failure.retry == "unknown" and self._kind != "read":
            self.lost = True
            if self._kind == "write":
                raise failure.error
        loop = asyncio.get_running_loop()
        # Another node may know at once; but the nodes are not asked in circles.
        pause_s = 0.0 if moved and not self._count else self._pause_s()
        self._count += 1
        pause_s = max(pause_s, failure.delay_s * random.uniform(1.0, 1.25))
        if loop.time() + pause_s >= self._deadline:
            raise self._timed_out(failure) from failure.error
        if pause_s:
            await asyncio.sleep(pause_s)

    def _learn(self, failure: AttemptError, address: str) -> bool:
        if failure.unreachable:
            if address:
                self._topology.avoid(address)
            return True
        if failure.retry != "safe":
            return False
        self._topology.doubt()
        return bool(failure.leader) and self._topology.follow(failure.shard, failure.leader)

    def _pause_s(self) -> float:
        longest = min(_FIRST_PAUSE_S * 2.0 ** min(self._count, 10), _LONGEST_PAUSE_S)
        return longest * random.uniform(0.5, 1.0)

    def _refused(self, failure: AttemptError) -> QuorateError:
        if self.lost and failure.unlogged:
            return OutcomeUnknownError(
                "an attempt was lost on the way, and the next one was refused "
                f"({failure.error}); read before trying again"
            )
        return failure.error

    def _timed_out(self, failure: AttemptError) -> QuorateError:
        why = self._said or failure.why
        if self.lost:
            return UnansweredError(
                "the time is over, and an attempt was lost on the way, so it may be done; read "
                f"before trying again; the last reason was: {why}"
            )
        return DeadlineError(
            "the time is over and nothing was done, so trying again is safe; the last reason was: "
            f"{why}"
        )
