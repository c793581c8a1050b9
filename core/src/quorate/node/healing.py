"""The repair of a node's replicas and disks, and the checks that find what to repair."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from quorate.healing.canary import Canary
from quorate.healing.event_histories import EventHistories
from quorate.healing.full_disk import FullDisk
from quorate.healing.repairs import Repairs
from quorate.healing.scrub import Scrub
from quorate.node.ground import Ground
from quorate.node.replicas import Replicas
from quorate.rpc.asking import wall_ms
from quorate.shards.routing.requests import Answer
from quorate.topology.replicas.census import Census


class Healing:
    """Runs the parts of `quorate.healing` on a node."""

    def __init__(
        self,
        ground: Ground,
        replicas: Replicas,
        census: Census,
        submit: Callable[..., Coroutine[Any, Any, Answer]],
    ) -> None:
        """`submit` replicates one of core's own commands on a shard."""
        shards, settings, loop = replicas.shards, ground.settings, ground.loop
        self.repairs: Final = Repairs(
            loop, shards, census, submit, wall_ms, ground.recordings.audited
        )
        self.scrub: Final = Scrub(
            shards,
            self.repairs,
            submit,
            replicas.log.engine,
            loop,
            settings.scrub.file_bytes_per_s,
            settings.scrub.row_bytes_per_s,
            ground.lifecycle.end,
        )
        self.histories: Final = EventHistories(loop, shards, submit, settings.storage.history_bytes)
        self.canary: Final = Canary(
            shards,
            census,
            submit,
            loop,
            wall_ms=wall_ms,
            period_s=settings.canary.period_ms / 1_000,
            slow_s=settings.canary.slow_ms / 1_000,
        )
        self._full_disk: Final = FullDisk(
            loop, shards, lambda: replicas.shortage, census.full.__contains__
        )

    def alarms(self) -> Iterator[str]:
        """Yield the alarms of all parts."""
        for part in (self.repairs, self.scrub, self.canary):
            yield from part.alarms()

    def start(self) -> None:
        """Start the parts that need not wait for the shards."""
        self.repairs.start()
        self._full_disk.start()

    def start_checks(self) -> None:
        """Start the checks of open shards."""
        self.scrub.start()
        self.histories.start()
        self.canary.start()

    async def stop_checks(self) -> None:
        """Stop all but the repairs."""
        for part in (self._full_disk, self.canary, self.histories, self.scrub):
            await part.stop()
