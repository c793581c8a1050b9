"""One replica in a simulated process, and what is seen of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from quorate.apply.entries import LoggedCommand
from quorate.apply.evaluator import Evaluation
from quorate.apply.program import Program, families_of
from quorate.consensus.inherited import LEADER
from quorate.consensus.journal import Position
from quorate.consensus.messages import Message, Peer
from quorate.consensus.refusals import MemoryLostError
from quorate.plugin import Row
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.context import ReplicaContext
from quorate.shards.shard.log_keeper import TailJournal, open_journal
from quorate.shards.shard.shard import Shard
from quorate.topology.commands.routes import ROUTES

from tests.support.sim import facts
from tests.support.sim.data import LivingHome, ObservedData
from tests.support.sim.journal import ObservedJournal
from tests.support.sim.network import Packet

if TYPE_CHECKING:
    from tests.support.sim.process import Process

_END: Final = b"\xff" * 64


class Hosted:
    """A `Shard` of real processes over observed data and an observed log."""

    def __init__(
        self, process: "Process", name: str, data: ObservedData, journal: TailJournal
    ) -> None:
        self.name: Final = name
        self.process: Final = process
        self.peer: Final[Peer] = process.disk.peer
        self._tell: Final = process.around.tell
        around = process.around
        shard = ShardId.parse(name)
        self._families: Final = families_of(around.hosting.catalog, shard.group)
        self.data: Final = data
        self.shard: Final = Shard(
            shard,
            self.peer,
            self.data,
            journal,
            ReplicaContext(
                catalog=around.hosting.catalog,
                settings=around.profile.shard_settings(self.peer.node),
                loop=process.loop,
                wall_ms=process.wall_ms,
                liveness=process.liveness,
            ),
            process.hooks(self),
            rng=around.world.rng(f"replica/{process.life}/{name}"),
            program=Program.of(around.hosting.catalog, shard.group, ROUTES),
        )
        self.replica: Final = self.shard.replica
        self._evaluate: Final = self.shard.evaluator.evaluate
        vars(self.shard.evaluator)["evaluate"] = self._observed
        self._seen: tuple[object, ...] = ()
        self._seen_commit = self.replica.commit
        self._led = False
        self._rested = False
        self.data.committed = self._committed
        self.data.replaced = self._replaced
        self._tell_state()

    @classmethod
    def open(cls, process: "Process", name: str) -> "Hosted":
        """Open what a process holds of a shard."""
        home = LivingHome(process.disk.homes[name], process.has_ended)
        data = ObservedData.open(home, process.around.hosting.families)
        return cls(process, name, data, open_journal(_Log(process, data), name, data))

    @property
    def leads(self) -> bool:
        """Whether it takes itself for the leader."""
        return self.shard.leads

    @property
    def term(self) -> int:
        """Its term."""
        return self.replica.term

    @property
    def applied(self) -> int:
        """The index up to which it has applied."""
        return self.data.applied

    @property
    def backlog(self) -> int:
        """How many of its entries are not committed."""
        return self.replica.log.last.index - self.replica.commit

    def row(self, family: str, key: bytes) -> Row | None:
        """Read a row as a query does."""
        return self.shard.store_reader(frozenset(self._families)).get_row(family, key)

    def rows(self) -> dict[str, dict[bytes, Row]]:
        """Read all rows of what is hosted."""
        reader = self.shard.store_reader(frozenset(self._families))
        return {
            family: {row.key: row for row in reader.scan(family, b"", _END, limit=1 << 30)}
            for family in self._families
        }

    def observe(self) -> None:
        """Report what changed since the last look."""
        replica = self.replica
        if replica.resting != self._rested:
            self._rested = replica.resting
            self.process.around.counts["rests"] += replica.resting
        leads = replica.role == LEADER
        configuration = replica.log.configuration
        seen = (leads, replica.term, replica.commit, replica.applied, configuration)
        if seen == self._seen:
            return
        self._seen = seen
        self._tell(facts.Seen(self.name, self.peer, *seen))
        if leads and not self._led:
            term_of = replica.log.term_of
            self._tell(facts.Elected(self.name, self.peer, replica.term, term_of))
        self._led = leads
        if replica.commit != self._seen_commit:
            first = max(self._seen_commit + 1, replica.log.first_index)
            self._seen_commit = replica.commit
            last = min(replica.commit, replica.log.last.index)
            if first <= last and configuration is not None:
                entries = tuple(replica.log.slice(first, last, 1 << 30))
                self._tell(
                    facts.Committed(
                        self.name, self.peer, leads, replica.term, configuration, entries
                    )
                )

    # What is asked of the node around a shard.

    def send(self, name: str, messages: Sequence[Message]) -> None:
        """Put messages on their way."""
        around, node = self.process.around, self.peer.node
        for message in messages:
            self._tell(facts.Sent(self.name, self.peer, message))
            around.send(node, message.target.node, Packet(self.name, message))

    def stopped(self, shard: Shard, error: Exception) -> None:
        """Report that the replica has stopped for good."""
        if self.process.disk.is_older and isinstance(error, MemoryLostError):
            self.process.gives_up = True
            return
        self._tell(facts.Stopped(self.name, self.peer, error))

    def _observed(
        self, index: int, writes: Sequence[Sequence[LoggedCommand]], now_ms: int, **checked: int
    ) -> Evaluation:
        evaluation = self._evaluate(index, writes, now_ms, **checked)
        taken = writes[: len(evaluation.outcomes)]
        commands = tuple(command for write in taken for command in write)
        self._tell(
            facts.Evaluated(self.name, self.peer, index, evaluation.payload, commands, now_ms)
        )
        return evaluation

    # What happens to the data.

    def _committed(self, before: int) -> None:
        if self.applied > before:
            # Nobody was told yet, and nobody reads before the rows are there.
            for entry in self.replica.log.slice(before + 1, self.applied, 1 << 30):
                self._tell(facts.Applied(self.name, self.peer, entry))
        self._tell_state()

    def _replaced(self, position: Position) -> None:
        self._tell(facts.Installed(self.name, self.peer, position))
        self._tell_state()

    def _tell_state(self) -> None:
        checksum = self.data.record.checksum
        self._tell(facts.StateAt(self.name, self.peer, self.applied, self.data.content, checksum))


class _Log:
    """The node's log, of which a shard opens its part."""

    def __init__(self, process: "Process", data: ObservedData) -> None:
        self._process: Final = process
        self._data: Final = data

    def journal(self, shard: str, applied: int = 0) -> ObservedJournal:
        """Open the shard's part."""
        return self._process.open_journal(shard, self._data, applied)
