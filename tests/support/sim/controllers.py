"""What nodes do by themselves where they lead: tell a shard its slots, and meet deadlines."""

from functools import partial
from typing import Final

from google.protobuf.message import Message
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.plugin.slots import slot_of
from quorate.v1.control_pb2 import AdoptSlots

from tests.support.sim import domain
from tests.support.sim.clients import Traffic
from tests.support.sim.hosted import Hosted
from tests.support.sim.v1.domain_pb2 import Expire

_EVERY_S: Final = 0.15
#: The most keys of one command.
_BATCH: Final = 5


class Controllers:
    """Look at every leader now and then, and propose for its term alone."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic: Final = traffic
        self._cluster: Final = traffic.cluster

    def start(self) -> None:
        """Begin."""
        self._cluster.world.at(0.1, self._look)

    def _look(self) -> None:
        for shard in self._cluster.shards:
            for leader in self._traffic.awake(shard):
                if leader.leads:
                    self._control(leader)
        if not self._traffic.silent:
            self._cluster.world.at(_EVERY_S, self._look)

    def _control(self, leader: Hosted) -> None:
        applier = leader.shard.applier
        if not applier.slots.version:
            self._propose(leader, AdoptSlots(version=1, slots=self._cluster.bitmaps[leader.name]))
            return
        due = [key for key, _ in applier.due(domain.EXPIRY, applier.now_ms, _BATCH)]
        if due:
            self._cluster.counts["expiries"] += len(due)
            self._propose(leader, Expire(keys=due), tuple(slot_of(key) for key in due))

    def _propose(self, leader: Hosted, message: Message, slots: tuple[int, ...] = ()) -> None:
        command = LoggedCommand(
            type=message.DESCRIPTOR.full_name,
            payload=message.SerializeToString(deterministic=True),
            slots=slots,
            slotless=not slots,
        )
        answer = partial(self._answered, leader, command)
        self._traffic.propose(leader, command, answer, leader.term)

    def _answered(self, at: Hosted, command: LoggedCommand, end: Outcome | BaseException) -> None:
        if isinstance(end, Outcome):
            self._traffic.acknowledged(at, command, end)
