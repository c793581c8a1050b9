"""Writes and reads a canary row of this node in every shard, as a client would."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from google.protobuf.message import Message

from quorate.apply import checks
from quorate.apply.levels import CHECKED_FROM, CORE
from quorate.observe.histogram import SECONDS, Histogram
from quorate.plugin.shard_id import ShardId
from quorate.shards.router import Answer
from quorate.shards.timing import Background, pause
from quorate.topology.replicas.census import Census
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import PutCanary, PutCanaryReply

_log = logging.getLogger(__name__)

#: The least pause between two shards, whatever their number.
_BREATH_S: Final = 0.5
#: A probe is given up after this many times the bound for a slow answer.
_GIVEN_UP: Final = 3


class WrongAnswerError(Exception):
    """An answer contradicts what was written before."""


class Canary(Background):
    """Probes each shard once per period, and reports wrong, slow and missing answers.

    Skips shards at rest. A wrong answer is reported until the node stops. A slow or failed probe
    is repeated at once, since an election or a start may explain it; if the repeated one is slow or
    fails, too, the shard is reported until its next good answer.
    """

    def __init__(
        self,
        shards: NodeShards,
        census: Census,
        propose: Callable[..., Coroutine[Any, Any, Answer]],
        loop: asyncio.AbstractEventLoop,
        *,
        wall_ms: Callable[[], int],
        period_s: float,
        slow_s: float,
    ) -> None:
        super().__init__(loop)
        #: How long a write and a read took together, and how many were wrong, slow or failed.
        self.durations: Final = Histogram(SECONDS)
        self.failures = 0
        self._shards: Final = shards
        self._census: Final = census
        self._propose: Final = propose
        self._number = wall_ms()
        self._period_s: Final = period_s
        self._slow_s: Final = slow_s
        #: The last number stored in each shard; absent after a write with an unknown outcome.
        self._stored: Final[dict[ShardId, int]] = {}
        self._wrong: Final[dict[ShardId, str]] = {}
        #: The complaint about the last probe of a shard, and the shards that are reported.
        self._slow: Final[dict[ShardId, str]] = {}
        self._said: Final[set[ShardId]] = set()

    def alarms(self) -> Iterator[str]:
        """Yield a text for each shard that answered wrongly, late or not at all."""
        yield from self._wrong.values()
        yield from (self._slow[shard] for shard in self._said)

    async def _run(self) -> None:
        while self._period_s:
            known = self._shards.slot_map.all()
            # One that was merged into another has no answer to come.
            self._said.intersection_update(known)
            shards = [each for each in known if self._is_active(each)]
            if self._shards.level(CORE) < CHECKED_FROM:
                shards.clear()
            for shard in shards:
                # The shard may have come to rest since the list was made, and must not be woken.
                if self._is_active(shard) and not await self.ask(shard):
                    await pause(self._loop, _BREATH_S)
                    await self.ask(shard)
                await pause(self._loop, max(_BREATH_S, self._period_s / len(shards)))
            if not shards:
                await pause(self._loop, self._period_s)

    def _is_active(self, shard: ShardId) -> bool:
        # `get` would open it.
        replica = None if self._shards.is_unopened(shard) else self._shards.get(shard)
        if replica is not None:
            return not replica.resting
        return self._census.load(shard) > 0

    async def ask(self, shard: ShardId) -> bool:
        """Probe one shard; return False if the answer was slow or did not come."""
        began = self._loop.time()
        before = self._stored.pop(shard, None)
        self._number += 1
        try:
            async with asyncio.timeout(_GIVEN_UP * self._slow_s):
                await self._write_and_read(shard, before)
        except WrongAnswerError as error:
            self.failures += 1
            self._wrong[shard] = f"the canary of {self._shards.me.node}: {error}"
            _log.error("%s", self._wrong[shard])
            return True
        except Exception as error:  # noqa: BLE001 - whatever it is, a client would see it
            self._complain(
                shard, f"shard {shard} did not answer: {error!s} ({type(error).__name__})"
            )
            return False
        took_s = self._loop.time() - began
        self.durations.observe(took_s)
        if took_s > self._slow_s:
            self._complain(shard, f"shard {shard} took {took_s:.1f} s for a write and a read")
            return False
        self._slow.pop(shard, None)
        self._said.discard(shard)
        return True

    async def _write_and_read(self, shard: ShardId, before: int | None) -> None:
        command: Message = PutCanary(node=self._shards.me.node, number=self._number)
        answer = await self._propose(shard, command, timeout_s=_GIVEN_UP * self._slow_s)
        found = PutCanaryReply.FromString(answer.reply).before
        # A write that was applied twice finds its own number.
        if before is not None and found not in (before, self._number):
            raise WrongAnswerError(f"shard {shard} had {found} stored and not {before}")
        replica = self._shards.get(shard)
        if replica is not None:
            await replica.read_barrier(_GIVEN_UP * self._slow_s)
            found = checks.canary(replica.data, self._shards.me.node)
            if found != self._number:
                raise WrongAnswerError(
                    f"shard {shard} gave {found} here after {self._number} was written"
                )
        self._stored[shard] = self._number

    def _complain(self, shard: ShardId, what: str) -> None:
        if shard in self._slow:
            self.failures += 1
            if shard not in self._said:
                self._said.add(shard)
                _log.warning("the canary of this node: %s", what)
        self._slow[shard] = f"the canary of {self._shards.me.node}: {what}"
