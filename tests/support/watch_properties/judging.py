"""The nine properties, held against the parts of what watchers saw of one shard and one family.

What happened is put together from the writes that were acknowledged and what any watcher was given;
each part is then judged by itself, for it says by its tokens where it began and how far it came.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.support.watch_properties.seen import Change, Part, Response, Write

#: What happened: the rows that each command wrote, by its revision.
Log = Mapping[int, Mapping[bytes, bytes | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A property that does not hold, and where that is seen."""

    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


def judge(
    parts: Sequence[Part], writes: Iterable[Write], *, keeps_previous: bool = False
) -> list[Breach]:
    """Return what does not hold of watches of one shard and one family; every key begins absent.

    All writes of the family must be among `writes`, those of unknown outcome too.
    """
    written = list(writes)
    log = _log(parts, written)
    breaches = _agreed(parts)
    for part in parts:
        judged = _Judged(part, log, keeps_previous)
        breaches += judged.breaches()
    possible = {(key, value) for write in written for key, value in write.rows.items()}
    breaches += [
        Breach(name="reliable", what=f"nobody wrote what a watcher was given: {change}")
        for part in parts
        for change in _changes(part.responses)
        if (change.key, change.value) not in possible
    ]
    return breaches


def _log(parts: Sequence[Part], writes: Sequence[Write]) -> Log:
    log: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
    for part in parts:
        for change in _changes(part.responses):
            log[change.revision][change.key] = change.value
    for write in writes:
        if write.revision is not None:
            log[write.revision].update(write.rows)
    return dict(sorted(log.items()))


def _agreed(parts: Sequence[Part]) -> list[Breach]:
    """Resumable: whoever comes by a revision, from whatever token, is given the same there."""
    first: dict[tuple[int, bytes], Change] = {}
    return [
        Breach(
            name="resumable",
            what=f"{change} was given after a resumption, and {known} before",
        )
        for part in parts
        for change in _changes(part.responses)
        if (known := first.setdefault((change.revision, change.key), change)) != change
    ]


class _Judged:
    """One part, and what the log says that it should have been."""

    def __init__(self, part: Part, log: Log, keeps_previous: bool) -> None:
        self._part: Final = part
        self._keeps_previous: Final = keeps_previous
        self._log: Final = {
            revision: {key: rows[key] for key in rows if key.startswith(part.prefix)}
            for revision, rows in log.items()
        }
        positions = [each.position for each in part.responses if each.position is not None]
        self._begun_at: Final = (
            part.begun_at if part.begun_at is not None else (positions[0] if positions else None)
        )
        self._came_to: Final = positions[-1] if positions else self._begun_at

    def breaches(self) -> list[Breach]:
        """Return what does not hold of the part."""
        if self._begun_at is None or self._came_to is None:
            return []
        return [
            *self._filtered(),
            *self._ordered(),
            *self._unique(),
            *self._atomic(),
            *self._bookmarkable(self._begun_at),
            *self._reliable(self._begun_at, self._came_to),
            *self._told_apart(self._begun_at),
        ]

    def _filtered(self) -> list[Breach]:
        return [
            Breach(name="filtered", what=f"{each!r} does not begin with {self._part.prefix!r}")
            for each in self._keys()
            if not each.startswith(self._part.prefix)
        ]

    def _keys(self) -> list[bytes]:
        listed = [each.key for each in self._part.rows]
        return listed + [each.key for each in _changes(self._part.responses)]

    def _ordered(self) -> list[Breach]:
        latest, found = 0, []
        for change in _changes(self._part.responses):
            if change.revision < latest:
                found.append(Breach(name="ordered", what=f"{change} came behind {latest}"))
            latest = max(latest, change.revision)
        return found

    def _unique(self) -> list[Breach]:
        given: set[tuple[int, bytes]] = set()
        found = []
        for change in _changes(self._part.responses):
            if (change.revision, change.key) in given:
                found.append(Breach(name="unique", what=f"{change} came twice"))
            given.add((change.revision, change.key))
        return found

    def _atomic(self) -> list[Breach]:
        """What one command wrote comes in one response, all of it."""
        found = []
        for response in self._part.responses:
            for revision in {change.revision for change in response.changes}:
                together = {each.key for each in response.changes if each.revision == revision}
                if missing := self._log[revision].keys() - together:
                    what = f"{sorted(missing)} of revision {revision} came apart from the rest"
                    found.append(Breach(name="atomic", what=what))
        return found

    def _bookmarkable(self, begun_at: int) -> list[Breach]:
        """A token stands behind all that came before it, and before all that comes later."""
        position, found = begun_at, []
        for response in self._part.responses:
            for change in response.changes:
                if change.revision <= position:
                    what = f"{change} came behind the token of revision {position}"
                    found.append(Breach(name="bookmarkable", what=what))
            if response.position is None:
                continue
            newest = max((each.revision for each in response.changes), default=0)
            if response.position < max(position, newest):
                what = f"the token of {response.position} came behind {max(position, newest)}"
                found.append(Breach(name="bookmarkable", what=what))
            position = max(position, response.position)
        return found

    def _reliable(self, begun_at: int, came_to: int) -> list[Breach]:
        """Everything between the first and the last token is there."""
        given = {(each.revision, each.key): each for each in _changes(self._part.responses)}
        found = [
            Breach(name="reliable", what=f"the list leaves out {key!r} or shows it otherwise")
            for key in self._differs(begun_at)
        ]
        for revision, rows in self._log.items():
            if not begun_at < revision <= came_to:
                continue
            for key, value in rows.items():
                change = given.get((revision, key))
                if change is None or change.value != value:
                    what = f"{key!r} of revision {revision} was {value!r}; given was {change}"
                    found.append(Breach(name="reliable", what=what))
        return found

    def _differs(self, listed_at: int) -> list[bytes]:
        """Return the keys whose rows differ from the log; one of unknown origin may be newer."""
        if self._part.begun_at is not None:
            return []
        rows = {each.key: each for each in self._part.rows}
        state = self._state(listed_at)
        found = []
        for key in rows.keys() | state.keys():
            row, (revision, value) = rows.get(key), state.get(key, (0, None))
            if row is None:
                wrong = value is not None
            else:
                wrong = row.revision < revision or (row.revision == revision and row.value != value)
            if wrong:
                found.append(key)
        return found

    def _told_apart(self, begun_at: int) -> list[Breach]:
        """Created and updated, and the value before, are as the changes before make them."""
        state = self._state(begun_at)
        if self._part.begun_at is None:
            state = {each.key: (each.revision, each.value) for each in self._part.rows}
        found = []
        for change in _changes(self._part.responses):
            _, before = state.get(change.key, (0, None))
            if change.created not in (None, before is None):
                what = f"{change} came where the value was {before!r}"
                found.append(Breach(name="created and updated told apart", what=what))
            if self._keeps_previous and change.previous != before:
                what = f"{change} came where the value was {before!r}"
                found.append(Breach(name="previous value", what=what))
            state[change.key] = change.revision, change.value
        return found

    def _state(self, revision: int) -> dict[bytes, tuple[int, bytes | None]]:
        """Return what the log makes of each key up to a revision."""
        return {
            key: (each, value)
            for each, rows in self._log.items()
            if each <= revision
            for key, value in rows.items()
        }


def _changes(responses: Iterable[Response]) -> list[Change]:
    return [change for response in responses for change in response.changes]
