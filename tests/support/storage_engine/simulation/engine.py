"""One simulated engine: a disk that outlives its processes, and what a process believes."""

from __future__ import annotations

from dataclasses import dataclass, field

from quorate_storage_engine.v1.commands_pb2 import LeaderClaim, UpdateSegmentIsr
from quorate_storage_engine.v1.rows_pb2 import (
    SEGMENT_STATUS_DELETING,
    SEGMENT_STATUS_WRITING,
    Segment,
)

#: Shard and number of a segment.
Place = tuple[str, int]
#: What a disk keeps apart: the shard's uid, and the segment's number.
Held = tuple[int, int]
#: A record: the leader epoch under which it was written, and what tells it from all others.
Record = tuple[int, int]


def place_of(segment: Segment) -> Place:
    """Return where a segment is."""
    return segment.shard, segment.number


def held_of(segment: Segment) -> Held:
    """Return what a disk calls a segment."""
    return segment.shard_uid, segment.number


@dataclass(slots=True)
class Leading:
    """What a process knows of a segment that it leads."""

    #: The end of its log when it began to lead: who reaches it lacks nothing of earlier leaders.
    began_at: int
    #: By follower: its registration, and the end of its log.
    followers: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: An update of the in-sync replicas whose outcome is not known.
    update: UpdateSegmentIsr | None = None
    #: Nothing is acknowledged any more: the segment is being sealed here.
    sealing: bool = False


@dataclass(slots=True)
class Engine:
    """An engine; `disk` is durable, everything else ends with the process."""

    name: str
    disk: dict[Held, list[Record]] = field(default_factory=dict)
    running: bool = False
    process: int = 0
    broker_epoch: int = 0
    views: dict[Place, Segment] = field(default_factory=dict)
    leading: dict[Place, Leading] = field(default_factory=dict)

    def start(self, broker_epoch: int) -> None:
        """Begin a process that has registered."""
        self.running = True
        self.process += 1
        self.broker_epoch = broker_epoch

    def crash(self) -> None:
        """End the process; nothing of what it knew is left."""
        self.running = False
        self.views.clear()
        self.leading.clear()

    def register_again(self, broker_epoch: int) -> None:
        """Go on under another registration: what was led before is not led any more."""
        self.broker_epoch = broker_epoch
        self.leading.clear()

    def learn(self, place: Place, row: Segment | None) -> None:
        """Read the row of a segment."""
        view = self.views.get(place)
        if row is None:
            self.views.pop(place, None)
            self.leading.pop(place, None)
            return
        self.views[place] = row
        if self.name in row.replicas:
            self.disk.setdefault(held_of(row), [])
        if not self.believes_to_lead(place):
            self.leading.pop(place, None)
            return
        if view is None or view.leader_epoch != row.leader_epoch or place not in self.leading:
            self.leading[place] = Leading(began_at=len(self.disk[held_of(row)]))
        update = self.leading[place].update
        if update is not None and row.segment_epoch > update.segment_epoch:
            self.leading[place].update = None

    def believes_to_lead(self, place: Place) -> bool:
        """Tell whether this process leads a segment, as far as it knows."""
        view = self.views.get(place)
        return (
            self.running
            and view is not None
            and view.status != SEGMENT_STATUS_DELETING
            and view.leader == self.name
            and view.leader_broker_epoch == self.broker_epoch
            and held_of(view) in self.disk
        )

    def writes_to(self, place: Place) -> bool:
        """Tell whether this process takes records for a segment that it believes to lead."""
        writing = self.views[place].status == SEGMENT_STATUS_WRITING
        return writing and not self.leading[place].sealing

    def log(self, place: Place) -> list[Record]:
        """Return the log of a segment that is known and held."""
        return self.disk[held_of(self.views[place])]

    def claim(self, place: Place) -> LeaderClaim:
        """Return what it asks with for a segment that it leads."""
        return LeaderClaim(
            engine=self.name,
            broker_epoch=self.broker_epoch,
            leader_epoch=self.views[place].leader_epoch,
        )

    def high_watermark(self, place: Place) -> int:
        """Return up to where all in-sync replicas hold the log, those that may be in sync too."""
        leading = self.leading[place]
        in_sync = set(self.views[place].isr)
        if leading.update is not None:
            in_sync |= {member.engine for member in leading.update.isr}
        in_sync.discard(self.name)
        ends = [leading.followers.get(name, (0, 0))[1] for name in in_sync]
        return min([len(self.log(place)), *ends])

    def hear(self, place: Place, leader_epoch: int, follower: str, epoch: int, end: int) -> None:
        """Take note of where a follower's log ends; what comes late does not go back."""
        if self.believes_to_lead(place) and self.views[place].leader_epoch == leader_epoch:
            followers = self.leading[place].followers
            followers[follower] = max(followers.get(follower, (0, 0)), (epoch, end))

    def follow(self, place: Place, leader: Engine, most: int) -> bool:
        """Fetch from the leader that both know, and drop what differs from its log."""
        view, theirs = self.views.get(place), leader.views[place]
        if (
            not self.running
            or view is None
            or self.name == leader.name
            or self.name not in view.replicas
            or held_of(view) not in self.disk
            or (view.shard_uid, view.leader, view.leader_epoch)
            != (theirs.shard_uid, leader.name, theirs.leader_epoch)
        ):
            return False
        own, log = self.log(place), leader.log(place)
        same = 0
        while same < min(len(own), len(log)) and own[same] == log[same]:
            same += 1
        own[same:] = log[same : same + most]
        return True
