"""Replicas that lag too far behind, on a cluster of three nodes with logs that are cut early."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from quorate.consensus.journal import Position
from quorate.consensus.messages import Append, Message, Peer
from quorate.consensus.peer.wire import Handshake
from quorate.consensus.timing import Timing
from quorate.observe.failpoints import arm
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.log_keeper import LogPolicy
from quorate.shards.shard.shard import ShardSettings
from quorate.shards.snapshots.queue import (
    ShardReception,
    SnapshotQueue,
    SnapshotReceiver,
    SnapshotSettings,
)
from quorate.shards.snapshots.snapshot_messages import (
    Chunk,
    Offer,
    ReceiverBusyError,
    SnapshotRefusedError,
    TransferError,
    decode_chunk,
    decode_offer,
    encode_chunk,
    encode_offer,
)
from quorate.shards.watching.watch import Watch
from quorate.shards.watching.watches import Watches
from quorate.storage.data.checkpoint import Checkpoint, Manifest

if TYPE_CHECKING:
    from quorate.apply.entries import LoggedCommand

    from core.tests.steered import Cluster, Node

NewRow = Callable[[str, str], "LoggedCommand"]

METADATA = ShardId("metadata", 0)
SETTINGS = ShardSettings(
    timing=Timing(heartbeat_s=0.05, election_min_s=0.2, election_max_s=0.4),
    log=LogPolicy(tail_entries=8, flush_s=0.05),
)
TRANSFER = SnapshotSettings(
    chunk_bytes=64, retry_min_s=0.1, retry_max_s=0.4, stall_s=2.0, install_s=3.0
)


class CrashError(Exception):
    """What ends a process at a failpoint."""


class Way:
    """Carries snapshots between the nodes of a cluster: the port of each, and their receivers."""

    def __init__(self, cluster: Cluster, settings: SnapshotSettings = TRANSFER) -> None:
        self.cluster = cluster
        self.settings = settings
        self.queues: dict[str, SnapshotQueue] = {}
        self.receivers: dict[str, SnapshotReceiver] = {}
        #: After so many bytes a transfer breaks; once.
        self.breaks_after: int | None = None
        self.broke = False
        #: The receiver of a broken transfer is told.
        self.break_is_noticed = True
        #: Parts never arrive, and nobody is told.
        self.stalls = False
        self.offers: list[Offer] = []
        self.under_way = 0
        self.most_under_way = 0
        for node in cluster.nodes.values():
            self.equip(node)

    def equip(self, node: Node) -> None:
        """Give a node that was started what it sends and receives with."""
        queue = SnapshotQueue(Port(self, node), loop=node.loop, settings=self.settings)
        self.queues[node.name] = queue
        self.receivers[node.name] = SnapshotReceiver(
            node.shards.get, loop=node.loop, settings=self.settings
        )
        node.snapshots.needed = queue.needed  # type: ignore[method-assign]

    def restart(self, node: Node) -> None:
        node.start()
        self.equip(node)


class Port:
    """Implements `SnapshotPort` for one node."""

    def __init__(self, way: Way, node: Node) -> None:
        self._way = way
        self._node = node

    async def open(self, offer: Offer) -> Transfer:
        way, target = self._way, self._way.cluster.nodes[offer.target.node]
        handshake = Handshake(offer.source, b"", b"", 0, offer.target.node)
        read, _ = decode_offer(encode_offer(offer, handshake))
        assert read == offer
        way.offers.append(offer)
        transfer = Transfer(way, self._node, target)

        async def begin() -> None:
            transfer.reception = way.receivers[target.name].begin(read)

        await transfer.there(begin)
        way.under_way += 1
        way.most_under_way = max(way.most_under_way, way.under_way)
        return transfer


class Transfer:
    """Implements `Outgoing` from one loop to another."""

    def __init__(self, way: Way, source: Node, target: Node) -> None:
        self._way = way
        self._source = source
        self._target = target
        #: Of the life that it has now: what is sent to it later does not reach the next one.
        self._loop = target.loop
        self._sent = 0
        self._cancelled = False
        self.reception: ShardReception | None = None

    async def write(self, chunk: Chunk) -> None:
        content = encode_chunk(chunk)
        self._sent += len(content)
        way = self._way
        if way.breaks_after is not None and self._sent > way.breaks_after:
            way.breaks_after, way.broke = None, True
            if way.break_is_noticed:
                self._abandon()
            raise TransferError("the way broke")
        await self.there(lambda: self._reception().write(decode_chunk(content)))

    async def finish(self) -> None:
        await self.there(lambda: self._reception().finish())

    def cancel(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._way.under_way -= 1
        if self._way.break_is_noticed:
            self._abandon()

    def _abandon(self) -> None:
        if self.reception is not None:
            self._loop.post(0.001, self.reception.abandon)

    def _reception(self) -> ShardReception:
        assert self.reception is not None
        return self.reception

    async def there(self, act: Callable[[], Awaitable[None]]) -> None:
        """Do something on the target's loop, and return what became of it."""
        done: asyncio.Future[None] = self._source.loop.create_future()

        def tell(error: Exception | None) -> None:
            if not done.done():
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)

        async def run() -> None:
            error: Exception | None = None
            try:
                await act()
            except TransferError as refused:
                error = refused
            self._source.loop.post(0.001, tell, error)

        def begin() -> None:
            target.loop.create_task(run())

        cluster, target = self._way.cluster, self._target
        if cluster.is_cut(self._source.name, target.name) or self._loop is not target.loop:
            raise TransferError(f"{target.name} is not there")
        if not (self._way.stalls and self.reception is not None):
            target.loop.post(0.001, begin)
        await done


@pytest.fixture
def lagging(new_cluster: Callable[..., Cluster], new_row: NewRow) -> Iterator[Lagging]:
    made = Lagging(new_cluster(settings=SETTINGS), new_row)
    yield made
    made.cluster.world.dispose()


class Lagging:
    """A cluster whose follower `lost` misses more than the log keeps."""

    def __init__(self, cluster: Cluster, new_row: NewRow) -> None:
        self.cluster = cluster
        self.way = Way(cluster)
        self.new_row = new_row
        self.written = 0
        self.write(5)
        self.lost = cluster.followers[0]
        cluster.isolate(self.lost)
        self.write(60)
        cluster.until(lambda: cluster.leader.metadata.status().replica.first > 40)

    def write(self, count: int) -> None:
        for _ in range(count):
            number = self.written = self.written + 1
            self.cluster.propose(self.new_row(f"row{number % 20}", "v" * (number % 90)))

    def come_back(self) -> None:
        """The follower is there again."""
        self.cluster.cut.clear()
        for node in self.cluster.nodes.values():
            for other in self.cluster.nodes:
                node.loop.post(0.0, node.shards.remade, other)

    def until_equal(self) -> None:
        """Let time pass until all three hold the same."""
        nodes = self.cluster.nodes.values()

        def equal() -> bool:
            leader = self.cluster.leader
            return all(
                node.metadata.stopped is None and node.metadata.applied == leader.metadata.applied
                for node in nodes
            )

        self.cluster.until(equal)
        assert len({digest(node) for node in nodes}) == 1
        rows = self.cluster.leader.rows()
        assert rows[f"row{self.written % 20}"] == "v" * (self.written % 90)

    def until_tidy(self) -> None:
        """Let time pass until nothing is left of copies and of what was received."""
        nodes = self.cluster.nodes.values()
        self.cluster.until(lambda: all(len(node.homes[METADATA].folders()) == 1 for node in nodes))


def digest(node: Node) -> str:
    found = node.metadata.data.digest()
    while not found.step():
        pass
    return found.hexdigest()


def test_a_follower_comes_back_by_a_snapshot_while_writes_go_on(lagging: Lagging) -> None:
    lagging.come_back()
    lagging.write(100)
    lagging.until_equal()
    lagging.until_tidy()

    assert [offer.target for offer in lagging.way.offers] == [lagging.lost.peer]
    assert lagging.lost.metadata.data.installed == lagging.way.offers[0].manifest.record.position


def test_the_log_is_kept_until_the_follower_has_caught_up(lagging: Lagging) -> None:
    way, leader = lagging.way, lagging.cluster.leader
    way.settings = replace(TRANSFER, bytes_per_s=2_000.0)
    way.equip(leader)
    lagging.come_back()
    lagging.cluster.until(lambda: bool(way.offers))
    held = way.offers[0].manifest.record.position.index
    lagging.write(60)

    assert leader.metadata.status().replica.first <= held + 1
    lagging.until_equal()
    assert len(way.offers) == 1
    # Then it is cut again.
    lagging.write(20)
    lagging.cluster.until(lambda: leader.metadata.status().replica.first > held + 20)


def test_entries_behind_the_snapshot_are_kept_until_they_have_arrived(lagging: Lagging) -> None:
    cluster, lost, way = lagging.cluster, lagging.lost, lagging.way

    def passes(message: Message) -> bool:
        return not (isinstance(message.body, Append) and message.target == lost.peer)

    lagging.come_back()
    cluster.until(lambda: bool(way.offers))
    cluster.passes = passes
    cluster.until(lambda: lost.metadata.data.installed is not None)
    lagging.write(40)
    cluster.pass_time(0.5)
    cluster.passes = lambda _: True
    lagging.until_equal()

    assert len(way.offers) == 1


def test_what_is_sent_is_bounded_a_second(lagging: Lagging) -> None:
    way = lagging.way
    way.settings = replace(TRANSFER, bytes_per_s=1_000.0)
    way.equip(lagging.cluster.leader)
    lagging.come_back()
    lagging.cluster.until(lambda: bool(way.offers))
    begun, size = lagging.cluster.world.now, sum(f.size for f in way.offers[0].manifest.files)
    lagging.until_equal()

    took = lagging.cluster.world.now - begun
    assert took > 0.9 * size / 1_000.0
    assert took < 1.0 + 2.0 * size / 1_000.0


@pytest.mark.parametrize("noticed", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_a_transfer_that_breaks_at_any_byte(lagging: Lagging, seed: int, noticed: bool) -> None:
    way = lagging.way
    way.breaks_after = Random(seed).randrange(4_000) if seed else 0
    way.break_is_noticed = noticed
    lagging.come_back()
    lagging.write(5)
    lagging.until_equal()
    lagging.until_tidy()

    assert way.broke
    assert len(way.offers) == 2


def test_a_transfer_of_which_nothing_arrives(lagging: Lagging) -> None:
    way = lagging.way
    way.stalls = True
    lagging.come_back()
    lagging.cluster.until(lambda: len(way.offers) == 2)
    way.stalls = False
    lagging.until_equal()
    lagging.until_tidy()


@pytest.mark.parametrize("end", ["kill", "lose power"])
@pytest.mark.parametrize(
    ("failpoint", "of_leader"),
    [
        ("snapshot.flushed", True),
        ("snapshot.checkpointed", True),
        ("snapshot.part_sent", True),
        ("snapshot.sent", True),
        ("snapshot.offered", False),
        ("snapshot.part_received", False),
        ("snapshot.received", False),
        ("snapshot.verified", False),
        ("install.begun", False),
        ("pointer.written", False),
        ("pointer.renamed", False),
        ("install.pointed", False),
        ("install.swapped", False),
        ("snapshot.installed", False),
        ("snapshot.durable", False),
        ("install.closed", False),
        ("install.removed", False),
    ],
)
def test_a_crash_at_every_step(lagging: Lagging, failpoint: str, of_leader: bool, end: str) -> None:
    cluster, rng = lagging.cluster, Random(failpoint)
    victim = cluster.leader if of_leader else lagging.lost
    crashed: list[str] = []

    def crash() -> None:
        if crashed:
            return
        crashed.append(failpoint)
        if end == "kill":
            victim.kill()
        else:
            victim.lose_power(rng)
        raise CrashError(failpoint)

    with arm(failpoint, crash):
        lagging.come_back()
        cluster.until(lambda: bool(crashed))
        cluster.pass_time(1.0)
        lagging.way.restart(victim)
        lagging.write(5)
        lagging.until_equal()
    lagging.until_tidy()
    assert lagging.lost.metadata.data.installed is not None


def test_watches_of_the_old_database_end_and_those_of_the_new_one_see_it(
    lagging: Lagging,
) -> None:
    cluster, lost = lagging.cluster, lagging.lost
    watches = Watches(b"", lost.shards.get, NoFeeds().open, loop=lost.loop)
    before = len(lost.rows())

    async def read(watch: Watch, into: dict[bytes, Any]) -> None:
        async for seen in watch:
            if seen.event is not None:
                into[seen.event.key] = seen.event.value  # type: ignore[union-attr]

    old_rows: dict[bytes, Any] = {}
    old = lost.run(lambda: watches.open({"toy.rows": b""}, (METADATA,)))
    ended = lost.loop.create_task(read(old, old_rows))
    cluster.pass_time(0.5)
    assert len(old_rows) == before
    assert not ended.done()

    lagging.come_back()
    cluster.until(ended.done)
    assert old.lost is not None
    new_rows: dict[bytes, Any] = {}
    new = lost.run(lambda: watches.open({"toy.rows": b""}, (METADATA,)))
    task = lost.loop.create_task(read(new, new_rows))
    lagging.write(5)
    lagging.until_equal()
    cluster.pass_time(0.5)
    task.cancel()

    assert len(new_rows) == len(lost.rows()) == 20


class NoFeeds:
    """Every shard is here."""

    def open(self, *arguments: Any) -> Any:
        raise AssertionError(arguments)


# What a receiver refuses.


@pytest.fixture
def offer(lagging: Lagging) -> Offer:
    """What would be sent to the follower that is lost, by the leader."""
    leader = lagging.cluster.leader
    checkpoint = leader.run(leader.metadata.data.checkpoint)
    membership = leader.metadata.membership
    assert membership is not None
    manifest = checkpoint.manifest()
    leader.run(checkpoint.release)
    return Offer(METADATA, leader.peer, lagging.lost.peer, membership.index, manifest)


def begin(lagging: Lagging, offer: Offer) -> ShardReception | str:
    """Offer a snapshot, and return why it is refused, if it is."""

    def act() -> ShardReception | str:
        try:
            return lagging.way.receivers[lagging.lost.name].begin(offer)
        except SnapshotRefusedError as error:
            return str(error)

    return lagging.lost.run(act)


def at(offer: Offer, index: int) -> Offer:
    record = replace(offer.manifest.record, position=Position(index, 1))
    return replace(offer, manifest=Manifest(record, offer.manifest.files))


def test_a_member_is_welcome(lagging: Lagging, offer: Offer) -> None:
    assert isinstance(begin(lagging, offer), ShardReception)


def test_strangers_are_refused(lagging: Lagging, offer: Offer) -> None:
    stranger = replace(offer, source=Peer(offer.source.node, 99))

    assert begin(lagging, stranger) == "its sender is not a member of the shard"
    # It may be one of a membership that is not known here yet.
    assert isinstance(begin(lagging, replace(stranger, config_index=99)), ShardReception)


def test_what_is_for_another_replica_is_refused(lagging: Lagging, offer: Offer) -> None:
    refusal = begin(lagging, replace(offer, target=Peer(lagging.lost.name, 99)))

    assert refusal == "it is addressed to another replica"


def test_a_shard_that_is_not_here_is_refused(lagging: Lagging, offer: Offer) -> None:
    refusal = begin(lagging, replace(offer, shard=ShardId("kv", 7)))

    assert refusal == "shard kv/7 is not served by this node"


def test_a_snapshot_does_not_fill_the_disk(lagging: Lagging) -> None:
    """What must stay free for the log is not taken, and it comes when there is room."""
    lagging.lost.free_bytes = 1_000
    lagging.cluster.pass_time(1.1)
    lagging.come_back()
    lagging.cluster.pass_time(5.0)
    assert lagging.way.offers
    assert lagging.way.queues[lagging.cluster.leader.name].sent_bytes == 0

    lagging.lost.free_bytes = 1 << 40
    lagging.until_equal()


def test_a_disk_that_fills_up_ends_a_transfer(
    lagging: Lagging, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    write = ShardReception.write

    async def noted(reception: ShardReception, chunk: Chunk) -> None:
        try:
            await write(reception, chunk)
        except SnapshotRefusedError as error:
            refused.append(str(error))
            raise

    monkeypatch.setattr(ShardReception, "write", noted)
    leader = lagging.cluster.leader
    lagging.way.settings = replace(TRANSFER, bytes_per_s=2_000)
    lagging.way.equip(leader)
    lagging.come_back()
    lagging.cluster.until(lambda: lagging.way.queues[leader.name].sent_bytes > 0)
    lagging.lost.free_bytes = 1_000
    lagging.cluster.until(lambda: bool(refused))
    assert "1000 bytes are free" in refused[0]

    lagging.lost.free_bytes = 1 << 40
    lagging.until_equal()


def test_a_snapshot_at_or_below_commit_is_refused(lagging: Lagging, offer: Offer) -> None:
    commit = lagging.lost.metadata.status().replica.commit

    assert begin(lagging, at(offer, commit)) == (
        f"its index is {commit}, and {commit} is already committed here"
    )
    assert isinstance(begin(lagging, at(offer, commit + 1)), ShardReception)


def test_a_configuration_that_cannot_be_read_is_refused(lagging: Lagging, offer: Offer) -> None:
    record = replace(offer.manifest.record, configuration=b"\xff")
    refusal = begin(lagging, replace(offer, manifest=Manifest(record, offer.manifest.files)))

    assert isinstance(refusal, str)
    assert refusal.startswith("its configuration cannot be read")


def test_commit_may_have_come_by_at_the_swap(lagging: Lagging, offer: Offer) -> None:
    lagging.come_back()
    lagging.until_equal()
    reception = begin(lagging, at(offer, lagging.lost.metadata.applied + 1))
    assert isinstance(reception, ShardReception)
    lagging.write(5)
    lagging.until_equal()
    before = digest(lagging.lost)

    async def swap() -> None:
        reception._install()

    task = lagging.lost.loop.create_task(swap())
    assert "already committed here" in str(lagging.cluster.failure(task))
    assert digest(lagging.lost) == before


def test_one_snapshot_comes_in_at_a_time(lagging: Lagging, offer: Offer) -> None:
    first = begin(lagging, offer)
    assert isinstance(first, ShardReception)

    # Of the same shard: its sender has begun anew.
    second = begin(lagging, offer)
    assert isinstance(second, ShardReception)
    assert first.ended

    second.installing = True
    assert begin(lagging, offer) == "it is receiving one of shard metadata/0"


def test_another_shard_waits_until_one_is_in_or_stalls(lagging: Lagging, offer: Offer) -> None:
    lost = lagging.lost
    receiver = SnapshotReceiver(lambda _: lost.metadata, loop=lost.loop, settings=TRANSFER)
    lagging.way.receivers[lost.name] = receiver
    other = replace(offer, shard=ShardId("kv", 0))
    first = begin(lagging, offer)
    assert isinstance(first, ShardReception)

    assert begin(lagging, other) == "it is receiving one of shard metadata/0"
    lagging.cluster.pass_time(TRANSFER.stall_s + 0.1)
    assert isinstance(begin(lagging, other), ShardReception)
    assert first.ended


def test_parts_out_of_order_are_refused(lagging: Lagging, offer: Offer) -> None:
    reception = begin(lagging, offer)
    assert isinstance(reception, ShardReception)
    lost, cluster = lagging.lost, lagging.cluster

    for chunk in (
        Chunk(file=0, offset=1, content=b"x"),
        Chunk(file=99, offset=0, content=b"x"),
        Chunk(file=0, offset=0, content=b"x" * 1_000_000),
    ):
        task = lost.loop.create_task(reception.write(chunk))
        assert isinstance(cluster.failure(task), SnapshotRefusedError)


def test_a_damaged_snapshot_is_refused(lagging: Lagging, offer: Offer) -> None:
    reception = begin(lagging, offer)
    assert isinstance(reception, ShardReception)
    lost, cluster = lagging.lost, lagging.cluster

    async def send() -> None:
        for number, file in enumerate(offer.manifest.files):
            await reception.write(Chunk(file=number, offset=0, content=bytes(file.size)))
        await reception.finish()

    before = lost.metadata.applied
    assert "received damaged" in str(cluster.failure(lost.loop.create_task(send())))
    lost.run(reception.abandon)
    lagging.until_tidy()
    assert lost.metadata.applied == before
    assert lost.metadata.stopped is None


# The sender.


def test_it_sends_one_snapshot_at_a_time(
    new_cluster: Callable[..., Cluster], new_row: NewRow
) -> None:
    cluster = new_cluster("abcde", settings=SETTINGS)
    way = Way(cluster)
    leader, *others = [cluster.leader, *cluster.followers]
    for node in others[:2]:
        cluster.isolate(node)
    for number in range(60):
        cluster.propose(new_row(f"row{number}", "v" * 60))
    cluster.until(lambda: cluster.leader.metadata.status().replica.first > 40)
    cluster.heal()
    cluster.until(lambda: all(n.metadata.applied == leader.metadata.applied for n in others))

    assert {offer.target for offer in way.offers} == {node.peer for node in others[:2]}
    assert way.most_under_way == 1
    cluster.world.dispose()


def test_a_receiver_that_fell_behind_again_meanwhile_gets_another_snapshot(
    new_cluster: Callable[..., Cluster], new_row: NewRow
) -> None:
    short = replace(SETTINGS, log=replace(SETTINGS.log, held_bytes=2_000))
    cluster = new_cluster(settings=short)
    Way(cluster, replace(TRANSFER, look_s=5.0))
    lost = cluster.followers[0]
    cluster.isolate(lost)
    for number in range(40):
        cluster.propose(new_row(f"row{number}", "v" * 60))
    cluster.until(lambda: cluster.leader.metadata.status().replica.first > 20)
    cluster.passes = lambda message: (
        not (
            isinstance(message.body, Append)
            and message.body.entries
            and message.target == lost.peer
        )
    )
    cluster.heal()
    cluster.until(lambda: lost.metadata.data.installed is not None)
    first = lost.metadata.applied
    for number in range(80):
        cluster.propose(new_row(f"more{number}", "v" * 60))
    cluster.leader.metadata.remade(lost.peer.node)

    cluster.until(lambda: lost.metadata.applied > first)
    cluster.world.dispose()


def test_the_next_snapshot_does_not_wait_until_a_receiver_has_caught_up(
    new_cluster: Callable[..., Cluster], new_row: NewRow
) -> None:
    cluster = new_cluster("abcde", settings=SETTINGS)
    way = Way(cluster, replace(TRANSFER, stall_s=20.0))
    lost = cluster.followers[:2]
    for node in lost:
        cluster.isolate(node)
    for number in range(60):
        cluster.propose(new_row(f"row{number}", "v" * 60))
    cluster.until(lambda: cluster.leader.metadata.status().replica.first > 40)
    targets = {node.peer for node in lost}
    cluster.passes = lambda message: (
        not (
            isinstance(message.body, Append) and message.body.entries and message.target in targets
        )
    )
    cluster.heal()
    cluster.until(lambda: len(way.offers) == 1)
    began_at = cluster.world.now
    cluster.propose(new_row("late", "v"))
    cluster.until(lambda: all(node.metadata.data.installed is not None for node in lost))

    assert cluster.world.now - began_at < 10.0
    assert way.most_under_way == 1
    cluster.world.dispose()


def test_what_is_asked_for_twice_is_sent_once(lagging: Lagging) -> None:
    leader, lost, way = lagging.cluster.leader, lagging.lost, lagging.way
    lagging.come_back()
    lagging.cluster.until(lambda: bool(way.offers))
    for _ in range(3):
        leader.run(lambda: way.queues[leader.name].needed(leader.metadata, [lost.peer]))
    lagging.until_equal()
    lagging.cluster.pass_time(2.0)
    lagging.until_tidy()

    assert len(way.offers) == 1


def test_success_is_told_when_the_log_is_durable_too(
    lagging: Lagging, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, lost = lagging.cluster, lagging.lost
    queue = lagging.way.queues[cluster.leader.name]

    def hold_syncs() -> None:
        monkeypatch.setattr(lost.syncs, "request", lambda: None)

    with arm("snapshot.verified", hold_syncs):
        lagging.come_back()
        cluster.until(lambda: lost.metadata.data.installed is not None)
        cluster.pass_time(1.0)
    assert queue.installed == 0

    monkeypatch.undo()
    lost.run(lost.syncs.request)
    cluster.until(lambda: queue.installed == 1)


def test_attempts_come_ever_less_often(lagging: Lagging) -> None:
    """Every attempt is refused: the pause between them doubles up to its bound."""
    moments: list[float] = []

    def refuse(offer: Offer) -> ShardReception:
        moments.append(lagging.cluster.world.now)
        raise SnapshotRefusedError("not now")

    lagging.way.receivers[lagging.lost.name].begin = refuse  # type: ignore[method-assign]
    lagging.come_back()
    lagging.cluster.until(lambda: len(moments) == 6)
    pauses = [after - before for before, after in pairwise(moments)]

    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.4, 0.4], abs=0.1)


@pytest.mark.parametrize(
    ("error", "level", "sentence"),
    [
        (
            ReceiverBusyError("it is receiving one of shard kv/0"),
            "INFO",
            "metadata/0 for {} waits: it is receiving one of shard kv/0; retry in 0.1 s",
        ),
        (
            SnapshotRefusedError("there is no room for it"),
            "WARNING",
            "metadata/0 did not reach {}: there is no room for it; retry in 0.1 s",
        ),
    ],
)
def test_a_snapshot_that_waits_for_another_is_no_warning(
    lagging: Lagging,
    caplog: pytest.LogCaptureFixture,
    error: SnapshotRefusedError,
    level: str,
    sentence: str,
) -> None:
    def refuse(offer: Offer) -> ShardReception:
        raise error

    lagging.way.receivers[lagging.lost.name].begin = refuse  # type: ignore[method-assign]
    caplog.set_level("INFO", "quorate.shards.snapshots")
    lagging.come_back()
    lagging.cluster.until(lambda: bool(caplog.records))

    [first, *_] = caplog.records
    assert (first.levelname, first.getMessage()) == (
        level,
        f"a snapshot of shard {sentence.format(lagging.lost.name)}",
    )


def test_nothing_is_made_for_a_follower_that_is_silent(
    lagging: Lagging, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = lagging.cluster.leader
    made: list[float] = []
    checkpoint = leader.metadata.data.checkpoint

    def noted() -> Checkpoint:
        made.append(lagging.cluster.world.now)
        return checkpoint()

    monkeypatch.setattr(leader.metadata.data, "checkpoint", noted)
    lagging.cluster.pass_time(30.0)
    assert not made

    # It does not wait for long when it is there again.
    back_at = lagging.cluster.world.now
    lagging.come_back()
    lagging.until_equal()
    assert len(made) == 1
    assert made[0] - back_at < 0.5


@pytest.mark.parametrize("error", [ValueError("a bug"), asyncio.CancelledError("by the way")])
def test_whatever_ends_a_transfer_there_is_another_attempt(
    lagging: Lagging, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    finish, failed = Transfer.finish, list[Transfer]()

    async def fail_once(transfer: Transfer) -> None:
        if not failed:
            failed.append(transfer)
            raise error
        await finish(transfer)

    monkeypatch.setattr(Transfer, "finish", fail_once)
    lagging.come_back()
    lagging.until_equal()

    assert failed


def test_a_queue_that_stops_leaves_nothing_behind(lagging: Lagging) -> None:
    leader = lagging.cluster.leader
    lagging.come_back()
    lagging.cluster.until(lambda: lagging.way.under_way == 1)

    stopping = leader.loop.create_task(lagging.way.queues[leader.name].stop())
    lagging.cluster.result(stopping)

    assert lagging.way.under_way == 0
    lagging.until_tidy()
