"""A shard's state machine: what it applied, what of it is durable, and snapshots of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from zlib import crc32

from quorate.consensus.journal import Position
from quorate.consensus.log import Stored
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Entry, EntryKind


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state machine right after one entry: what it read so far is folded into the digest."""

    position: Position
    digest: int
    #: How many commands it applied.
    count: int
    configuration_index: int
    configuration: Configuration | None

    def after(self, entry: Entry) -> "Snapshot":
        """Return what an entry makes of it; like a real one, it takes whatever it is given."""
        content = b"%d %d %d %b" % (entry.index, entry.term, entry.kind, entry.payload)
        changed = replace(
            self,
            position=Position(entry.index, entry.term),
            digest=crc32(content, self.digest),
            count=self.count + (entry.kind is EntryKind.COMMAND),
        )
        if entry.kind is not EntryKind.CONFIG:
            return changed
        configuration = Configuration.decode(entry.payload)
        return replace(changed, configuration_index=entry.index, configuration=configuration)


EMPTY = Snapshot(Position(0, 0), 0, 0, 0, None)


class Store:
    """What the data directory of a shard holds: a process that is killed loses none of it."""

    def __init__(self) -> None:
        #: The states that a power loss may fall back to; the first one is durable.
        self._states: list[Snapshot] = [EMPTY]
        #: The snapshot that was installed last, as the pointer file records it.
        self.installed: Position | None = None

    @property
    def now(self) -> Snapshot:
        """The state machine as it is."""
        return self._states[-1]

    @property
    def applied(self) -> int:
        """The index of the newest entry that it applied."""
        return self.now.position.index

    @property
    def durable(self) -> int:
        """The applied index that no power loss takes back."""
        return self._states[0].position.index

    @property
    def stored(self) -> Stored:
        """The configuration in force at the applied index."""
        return Stored(self.now.configuration_index, self.now.configuration)

    def apply(self, entries: Sequence[Entry]) -> list[Snapshot]:
        """Apply entries, unsynced; return the state after each."""
        before = len(self._states)
        for entry in entries:
            self._states.append(self._states[-1].after(entry))
        return self._states[before:]

    def sync(self) -> None:
        """Make durable what was applied."""
        del self._states[:-1]

    def install(self, snapshot: Snapshot) -> None:
        """Put a snapshot in the place of everything, durably."""
        self._states = [snapshot]
        self.installed = snapshot.position

    def lose_power(self, rng: Random) -> None:
        """Fall back to some state since the last sync."""
        del self._states[rng.randint(1, len(self._states)) :]
