"""The run of one seed: what happens, in which order, and what is looked at after each step."""

from __future__ import annotations

from typing import Final

from quorate.plugin import Rejected, RowEvent
from quorate.v1.batch_pb2 import BatchReply
from quorate_storage_engine.families import DROPS, SEGMENTS, segment_key
from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDrops,
    CreateNextSegment,
    DecommissionEngines,
    DeleteSegment,
    DeleteShard,
    DroppedSegment,
    IsrMember,
    RecommissionEngines,
    ShardState,
    UpdateSegmentIsr,
)
from quorate_storage_engine.v1.rows_pb2 import (
    SEGMENT_STATUS_DELETING,
    SEGMENT_STATUS_SEALED,
    Drop,
    Segment,
    Shard,
)
from quorate_storage_engine.v1.storage_node_pb2 import LogEnd, LogEndRequest, LogEndResponse

from tests.support.plugin_world import Act, Flights, Violation, World
from tests.support.storage_engine.fleet import EngineCluster
from tests.support.storage_engine.indexes import differences
from tests.support.storage_engine.simulation.engine import (
    Engine,
    Held,
    Place,
    Record,
    held_of,
    place_of,
)
from tests.support.storage_engine.simulation.invariants import check_acknowledged, check_row

_ENGINES: Final = tuple("abcdef")
_REPLICAS: Final = 3
_SHARDS: Final = 3


class EngineWorld(World):
    """Six engines, three shards, one cluster, and everything that can go wrong between them."""

    rounds = 40

    def __init__(self, seed: int) -> None:
        self._cluster: Final = EngineCluster({"batch": 3, "balance_moves": 2})
        super().__init__(seed, self._cluster.node)
        self._engines: Final = {name: Engine(name) for name in _ENGINES}
        self._rows: Final[dict[Place, Segment]] = {}
        self._drops: Final[dict[bytes, Drop]] = {}
        self._acknowledged: Final[dict[Held, list[Record]]] = {}
        #: Which process wrote to a segment under which leader epoch.
        self._leaders: Final[dict[tuple[Held, int], tuple[str, int]]] = {}
        #: What engines tell each other, and what they ask of the cluster, which is slower.
        self._flights: Final = Flights(self.rng)
        self._commands: Final = Flights(self.rng)
        self._records = 0
        self.sees = {SEGMENTS: self._see_segment, DROPS: self._see_drop}

    async def begin(self) -> None:
        """Register the engines, and create the shards."""
        for engine in self._engines.values():
            engine.start(await self._cluster.register(engine.name, address=engine.name))
        for number in range(_SHARDS):
            await self._cluster.create_shard(f"s{number}", replicas=_REPLICAS)

    def acts(self) -> list[tuple[Act, int]]:
        """Return all that may happen."""
        return [
            (self._append, 16),
            (self._follow, 24),
            (self._flights.arrive, 30),
            (self._commands.arrive, 10),
            (self._lose, 2),
            (self._commands.repeat, 2),
            (self._commit, 16),
            (self._learn, 24),
            (self._change_isr, 12),
            (self._begin_next, 4),
            (self._crash, 3),
            (self._expire, 4),
            (self._come_back, 5),
            (self._register_again, 2),
            (self._hold_elections, 5),
            (self._balance, 2),
            (self._place, 6),
            (self._collect, 2),
            (self._drop, 6),
            (self._commission, 2),
            (self._delete, 1),
            (self._create, 1),
        ]

    # What engines do.

    async def _append(self) -> None:
        leader, place = self._some_leader()
        if leader is None or not leader.writes_to(place):
            return
        view = leader.views[place]
        self._records += 1
        leader.log(place).append((view.leader_epoch, self._records))
        process = leader.name, leader.process
        first = self._leaders.setdefault((held_of(view), view.leader_epoch), process)
        if first != process:
            raise Violation(
                f"{first} and {process} both led {place} under leader epoch {view.leader_epoch}"
            )

    async def _follow(self) -> None:
        leader, place = self._some_leader()
        if leader is None:
            return
        name = self.rng.choice(list(leader.views[place].replicas))
        self._fetch(leader, self._engines[name], place, self.rng.randint(0, 3))

    def _fetch(self, leader: Engine, follower: Engine, place: Place, most: int) -> None:
        if not follower.follow(place, leader, most):
            return
        self.counts["fetches"] += 1
        epoch, process = leader.views[place].leader_epoch, leader.process
        broker_epoch, end = follower.broker_epoch, len(follower.log(place))

        async def hear() -> None:
            if leader.process == process:
                leader.hear(place, epoch, follower.name, broker_epoch, end)

        self._flights.append(hear)

    async def _commit(self) -> None:
        leader, place = self._some_leader()
        if leader is not None:
            self._acknowledge(leader, place)

    def _acknowledge(self, leader: Engine, place: Place) -> None:
        if not leader.writes_to(place):
            return
        held = held_of(leader.views[place])
        records = leader.log(place)[: leader.high_watermark(place)]
        known = self._acknowledged.setdefault(held, [])
        shared = min(len(known), len(records))
        if known[:shared] != records[:shared]:
            raise Violation(f"{leader.name} acknowledges {records} in {place}, after {known}")
        self.counts["acknowledged"] += len(records) - shared
        known.extend(records[shared:])

    async def _learn(self) -> None:
        engine = self._engines[self.rng.choice(_ENGINES)]
        places = sorted(self._rows.keys() | engine.views.keys())
        if engine.running:
            for place in self.rng.sample(places, (len(places) + 1) // 2):
                engine.learn(place, self._row(place))

    async def _change_isr(self) -> None:
        leader, place = self._some_leader()
        if leader is None or leader.leading[place].sealing:
            return
        update = leader.leading[place].update
        if update is None:
            update = self._expansion(leader, place) or self._reduction(leader, place)
        if update is not None:
            leader.leading[place].update = update
            self._send_update(leader, place, update)

    def _expansion(self, leader: Engine, place: Place) -> UpdateSegmentIsr | None:
        view, leading = leader.views[place], leader.leading[place]
        reached = max(leading.began_at, leader.high_watermark(place))
        joining = [
            (name, epoch)
            for name, (epoch, end) in sorted(leading.followers.items())
            if name in view.replicas and name not in view.isr and end >= reached
        ]
        if not joining or self.rng.random() < 0.1:
            return None
        return self._update(leader, place, [*view.isr, self.rng.choice(joining)[0]])

    def _reduction(self, leader: Engine, place: Place) -> UpdateSegmentIsr | None:
        others = [name for name in leader.views[place].isr if name != leader.name]
        if not others or self.rng.random() < 0.4:
            return None
        out = self.rng.choice(others)
        return self._update(leader, place, [n for n in leader.views[place].isr if n != out])

    def _update(self, leader: Engine, place: Place, isr: list[str]) -> UpdateSegmentIsr:
        known = leader.leading[place].followers
        return UpdateSegmentIsr(
            shard=place[0],
            segment=place[1],
            claim=leader.claim(place),
            segment_epoch=leader.views[place].segment_epoch,
            isr=[IsrMember(engine=n, broker_epoch=known.get(n, (0, 0))[0]) for n in isr],
        )

    def _send_update(self, leader: Engine, place: Place, update: UpdateSegmentIsr) -> None:
        process = leader.process

        async def arrive() -> None:
            done = not await self.propose(update, Segment)
            self.counts["in-sync replicas changed"] += done
            if leader.running and leader.process == process:
                leader.learn(place, self._row(place))
                leading = leader.leading.get(place)
                if not done and leading is not None and leading.update == update:
                    leading.update = None

        self._commands.append(arrive)

    async def _begin_next(self) -> None:
        leader, place = self._some_leader()
        if (
            leader is None
            or not leader.writes_to(place)
            or leader.leading[place].update is not None
        ):
            return
        leading, view = leader.leading[place], leader.views[place]
        if leader.high_watermark(place) < len(leader.log(place)):
            return
        self._acknowledge(leader, place)
        leading.sealing = True
        command = CreateNextSegment(
            shard=place[0],
            current_segment=place[1],
            end_offset=view.start_offset + len(leader.log(place)),
            claim=leader.claim(place),
        )
        process = leader.process

        async def arrive() -> None:
            self.counts["next segments"] += not await self.propose(command, ShardState)
            if leader.running and leader.process == process:
                leader.leading.pop(place, None)
                leader.learn(place, self._row(place))

        self._commands.append(arrive)

    async def _drop(self) -> None:
        asked = [
            drop
            for drop in self._drops.values()
            if self._engines[drop.engine].running and self._registered(drop.engine)
        ]
        if asked:
            drop = self.rng.choice(asked)
            engine = self._engines[drop.engine]
            engine.disk.pop((drop.shard_uid, drop.segment), None)
            place = drop.shard, drop.segment
            if place in engine.views and engine.views[place].shard_uid == drop.shard_uid:
                engine.learn(place, None)
            command = AcknowledgeDrops(
                engine=drop.engine,
                broker_epoch=engine.broker_epoch,
                segments=[
                    DroppedSegment(
                        shard_uid=drop.shard_uid,
                        segment=drop.segment,
                        segment_epoch=drop.segment_epoch,
                    )
                ],
            )

            async def arrive() -> None:
                await self.propose(command, BatchReply)
                self.counts["drops"] += 1

            self._commands.append(arrive)

    # What the network does.

    async def _lose(self) -> None:
        await self.rng.choice((self._flights, self._commands)).lose()

    # What happens to engines.

    async def _crash(self) -> None:
        engine = self._engines[self.rng.choice(_ENGINES)]
        self.counts["crashes"] += engine.running
        engine.crash()

    async def _expire(self) -> None:
        name = self.rng.choice(_ENGINES)
        if self._cluster.broker_epoch(name) and (
            not self._engines[name].running or self.rng.random() < 0.5
        ):
            self.counts["expiries"] += 1
            await self._cluster.unregister(name)

    async def _come_back(self) -> None:
        engine = self._engines[self.rng.choice(_ENGINES)]
        if not engine.running:
            await self._return(engine)

    async def _return(self, engine: Engine) -> None:
        known = {
            held_of(row)
            for row in self._rows.values()
            if engine.name in (*row.isr, *row.last_known_isr)
        }
        if self.rng.random() < 0.6:
            # A disk may be emptied, but for what it is known to hold.
            for held in [held for held in engine.disk if held not in known]:
                del engine.disk[held]
        engine.start(await self._register(engine))

    async def _register_again(self) -> None:
        engine = self._engines[self.rng.choice(_ENGINES)]
        if engine.running and not self._registered(engine.name):
            self.counts["registered again"] += 1
            engine.register_again(await self._register(engine))

    async def _register(self, engine: Engine) -> int:
        """Register an engine, which then drops what no row gives it."""
        epoch = await self._cluster.register(engine.name, address=engine.name)
        given = {held_of(row) for row in self._rows.values() if engine.name in row.replicas}
        for held in [held for held in engine.disk if held not in given]:
            del engine.disk[held]
        engine.views.clear()
        return epoch

    # What the cluster and its operators do.

    async def _hold_elections(self) -> None:
        await self._cluster.hold_elections(self._ask)

    async def _balance(self) -> None:
        await self._cluster.balance()

    async def _place(self) -> None:
        await self._cluster.place_replicas()

    async def _collect(self) -> None:
        await self._cluster.collect_garbage()

    async def _commission(self) -> None:
        name = self.rng.choice(_ENGINES[:2])
        leaving = name in self._leaving()
        kind = RecommissionEngines if leaving else DecommissionEngines
        await self.propose(kind(engines=[name]), BatchReply)

    async def _delete(self) -> None:
        sealed = [
            place
            for place, row in self._rows.items()
            if row.status == SEGMENT_STATUS_SEALED and (place[0], place[1] + 1) in self._rows
        ]
        if sealed and self.rng.random() < 0.7:
            shard, number = self.rng.choice(sealed)
            await self.propose(DeleteSegment(shard=shard, segment=number), Segment)
        else:
            name = f"s{self.rng.randrange(_SHARDS)}"
            await self.propose(DeleteShard(name=name), Shard)

    async def _create(self) -> None:
        name = f"s{self.rng.randrange(_SHARDS)}"
        try:
            await self._cluster.create_shard(name, replicas=_REPLICAS)
        except Rejected as refusal:
            self.counts[refusal.code] += 1

    async def _ask(self, address: str, request: LogEndRequest, timeout_s: float) -> LogEndResponse:
        engine = self._engines[address]
        if not engine.running or self.rng.random() < 0.2:
            raise TimeoutError(f"{address} does not answer")
        response = LogEndResponse(engine=engine.name, broker_epoch=engine.broker_epoch)
        for wanted in request.segments:
            row = self._rows[wanted.shard, wanted.segment]
            log = engine.disk.get(held_of(row))
            if log is not None:
                response.log_ends.append(
                    LogEnd(
                        segment=wanted,
                        shard_uid=row.shard_uid,
                        offset=row.start_offset + len(log),
                        leader_epoch=log[-1][0] if log else 1,
                        log_start=row.start_offset,
                    )
                )
        return response

    # How it ends.

    async def heal(self) -> None:
        """Bring every engine back, and lose nothing any more."""
        self._flights.clear()
        self._commands.clear()
        for engine in self._engines.values():
            if not engine.running:
                await self._return(engine)
            elif self._cluster.broker_epoch(engine.name) != engine.broker_epoch:
                engine.register_again(await self._register(engine))
            for leading in engine.leading.values():
                leading.sealing = False

    async def everything(self) -> None:
        """Run all controllers, and let all engines hear, follow, drop and update."""
        for controller in (self._hold_elections, self._place, self._collect, self._balance):
            await controller()
            self.look()
        for engine in self._engines.values():
            for place in sorted(self._rows.keys() | engine.views.keys()):
                engine.learn(place, self._row(place))
        for leader in self._engines.values():
            for place in list(leader.leading):
                for name in leader.views[place].replicas:
                    self._fetch(leader, self._engines[name], place, 1_000)
        for _ in range(len(self._drops)):
            await self._drop()
        await self._land()
        for leader in self._engines.values():
            for place in list(leader.leading):
                leader.leading[place].update = self._expansion(leader, place)
                update = leader.leading[place].update
                if update is not None:
                    self._send_update(leader, place, update)
        await self._land()

    async def _land(self) -> None:
        for flights in (self._flights, self._commands):
            await self.land(flights)

    def unrest(self) -> str:
        """Return a segment without its replicas, or what is still to be dropped."""
        leaving = self._leaving()
        for place, row in self._rows.items():
            if row.status == SEGMENT_STATUS_DELETING:
                return f"{place} is still being removed, from {list(row.drops)}"
            leader = self._engines.get(row.leader)
            if leader is None or row.leader_broker_epoch != leader.broker_epoch:
                return f"{place} is led by nobody who is there: {row}"
            if leaving & set(row.replicas) or len(row.replicas) < _REPLICAS:
                return f"{place} lies on {list(row.replicas)}, and {leaving} leave"
        if self._drops:
            return f"{len(self._drops)} drops stand"
        given = {(name, held_of(row)) for row in self._rows.values() for name in row.replicas}
        held = {(engine.name, held) for engine in self._engines.values() for held in engine.disk}
        return f"engines hold what no row gives them: {held - given}" if held - given else ""

    # How it looks at what happened.

    def differences(self) -> list[str]:
        """Return what an index or load says otherwise than the segments do."""
        return differences(self._cluster)

    def _see_drop(self, event: RowEvent) -> None:
        if event.value is None:
            del self._drops[event.key]
        else:
            self._drops[event.key] = Drop.FromString(event.value)

    def _see_segment(self, event: RowEvent) -> None:
        if event.value is None:
            place = next(each for each in self._rows if segment_key(*each) == event.key)
            del self._rows[place]
            return
        row = Segment.FromString(event.value)
        place = place_of(row)
        before = self._rows.get(place)
        check_row(before, row)
        self._rows[place] = row
        check_acknowledged(row, self._engines, self._acknowledged)
        if before is not None and row.leader and row.leader_epoch > before.leader_epoch:
            self.counts["elections"] += 1
        if before is not None and set(row.replicas) - set(before.replicas):
            self.counts["replicas added"] += 1
        if not row.leader and row.status != SEGMENT_STATUS_DELETING:
            self.counts["unavailable"] += 1

    def _some_leader(self) -> tuple[Engine | None, Place]:
        leaders = [
            (engine, place)
            for engine in self._engines.values()
            for place in engine.leading
            if engine.believes_to_lead(place)
        ]
        return self.rng.choice(leaders) if leaders else (None, ("", 0))

    def _row(self, place: Place) -> Segment | None:
        self.look()
        return self._rows.get(place)

    def _registered(self, name: str) -> bool:
        return self._cluster.broker_epoch(name) == self._engines[name].broker_epoch

    def _leaving(self) -> set[str]:
        engines = self._cluster.engines()
        return {name for name, each in engines.items() if each.decommissioned_at_ms}
