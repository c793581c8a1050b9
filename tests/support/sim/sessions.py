"""Clients that demand to be served exactly once: they try again until they know."""

from functools import partial
from typing import Final

from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.outcomes import Outcome
from quorate.v1.control_pb2 import OpenSession, OpenSessionReply

from tests.support.sim.clients import Traffic
from tests.support.sim.hosted import Hosted

#: How many operations of one client are under way at most.
_PIPELINE: Final = 3
_TTL_MS: Final = 1500


class SessionClient:
    """One client of one shard. What it does not know the end of it proposes again, anywhere."""

    def __init__(self, traffic: Traffic, shard: str, number: int) -> None:
        self._traffic: Final = traffic
        self._world: Final = traffic.cluster.world
        self._rng: Final = traffic.cluster.world.rng(f"session/{shard}/{number}")
        self._shard: Final = shard
        self._session = 0
        self._opening = False
        self._sequence = 0
        #: By sequence: what was proposed and is not answered.
        self._unanswered: Final[dict[int, LoggedCommand]] = {}
        #: What was answered last; a copy of it may still come to a leader, late.
        self._answered: LoggedCommand | None = None

    def start(self) -> None:
        """Go on doing things, for as long as the world goes on."""
        rate = self._traffic.cluster.profile.session_commands
        self._world.at(self._rng.random(), self._traffic.go_on, rate, self._act)

    def _act(self) -> None:
        if not self._session:
            self._open()
        elif self._answered is not None and self._rng.random() < 0.1:
            self._send(self._answered)
        elif len(self._unanswered) < _PIPELINE:
            self._sequence += 1
            self._unanswered[self._sequence] = self._traffic.invent(self._shard)
            self._try(self._session, self._sequence)

    def _open(self) -> None:
        leader = self._traffic.leading(self._shard)
        if leader is None or self._opening:
            return
        opening = OpenSession(ttl_ms=_TTL_MS)
        command = LoggedCommand(
            type=opening.DESCRIPTOR.full_name, payload=opening.SerializeToString(), slotless=True
        )
        self._opening = self._traffic.propose(leader, command, partial(self._opened, leader))
        # Who does not hear of it opens another one.
        self._world.at(1.0, self._give_up_opening)

    def _give_up_opening(self) -> None:
        self._opening = False

    def _opened(self, at: Hosted, end: Outcome | BaseException) -> None:
        self._opening = False
        if isinstance(end, Outcome) and end.refusal is None and not self._session:
            self._traffic.cluster.counts["sessions"] += 1
            self._session = OpenSessionReply.FromString(end.reply).session
            self._sequence = 0

    def _try(self, session: int, sequence: int) -> None:
        """Propose, and look again later whether an answer came."""
        if session != self._session or sequence not in self._unanswered:
            return
        stamp = Stamp(session, sequence, min(self._unanswered))
        command = self._unanswered[sequence] = self._unanswered[sequence]._replace(stamp=stamp)
        for _ in range(1 if self._rng.random() < 0.9 else 2):
            self._send(command)
        # Some clients sleep for so long that their session ends meanwhile.
        patience = self._rng.choice((0.2, 0.5, 1.0, 1.0, 1.0, 4.0))
        if self._traffic.gentle:
            patience = 0.5
        self._world.at(patience, self._try, session, sequence)

    def _send(self, command: LoggedCommand) -> None:
        leader = self._traffic.leading(self._shard)
        if leader is not None:
            self._traffic.cluster.counts["session commands"] += 1
            self._traffic.propose(leader, command, partial(self._ended, leader, command))

    def _ended(self, at: Hosted, command: LoggedCommand, end: Outcome | BaseException) -> None:
        if not isinstance(end, Outcome):
            return
        self._traffic.acknowledged(at, command, end)
        stamp = command.stamp
        if stamp is None or stamp.session != self._session:
            return
        if end.refusal is not None and end.refusal.code == "SESSION_EXPIRED":
            self._traffic.cluster.counts["expired sessions"] += 1
            self._session = 0
            self._unanswered.clear()
            self._answered = None
        elif self._unanswered.pop(stamp.sequence, None) is not None:
            self._answered = command
