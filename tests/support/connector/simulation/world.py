"""The run of one seed: what happens, in which order, and what is looked at after each step."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, Final, TypeVar

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message
from quorate.plugin import Fence, Rejected, RowEvent, ShardRef
from quorate.plugin.advanced import SessionRef
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate_connector.families import CURSORS, GROUP, TASKS, key_of
from quorate_connector.scheduling.controllers import schedule
from quorate_connector.v1.connectors_pb2 import (
    TARGET_PAUSED,
    TARGET_RUNNING,
    TARGET_STOPPED,
    Connector,
    CreateConnectorRequest,
    DeleteConnector,
    RestartTasks,
    SetConnectorTarget,
    UpdateConnectorRequest,
)
from quorate_connector.v1.tasks_pb2 import (
    TASK_STATE_FAILED,
    TASK_STATE_PAUSED,
    TASK_STATE_RUNNING,
    TASK_STATE_STOPPED,
    Cursor,
    DrainWorker,
    ReportTasks,
    Task,
    TaskReport,
    TaskState,
    UndrainWorker,
    Worker,
)

from tests.support.connector.fleet import TENANT, ConnectorCluster
from tests.support.connector.indexes import differences
from tests.support.connector.simulation.invariants import (
    Holders,
    check_accepted,
    check_form,
    check_progress,
)
from tests.support.connector.simulation.process import Process, Run
from tests.support.plugin_world import Act, Flights, Violation, World

A = TypeVar("A", bound=Message | bytes)

#: Labels by worker, and by connector.
_WORKERS: Final[dict[str, dict[str, str]]] = {
    "a": {"zone": "north"},
    "b": {"zone": "north"},
    "c": {},
    "d": {},
}
_NORTH: Final = {"zone": "north"}
_CONNECTORS: Final[dict[str, dict[str, str]]] = {"x": {}, "y": _NORTH, "z": {}}
#: Its tasks do nothing but fail in the end.
_BROKEN: Final = "z"
_FAILURES: Final = 3
#: Those that are sound once all is healed: every task has one that it can go to.
_SOUND: Final = ("a", "c")
_CONFIG: Final = {"batch": 2, "releases": 2}


class _Slowed:
    """The node as the scheduler sees it: what it proposes may arrive much later."""

    def __init__(self, node: MemoryNode, rng: Random, flights: Flights) -> None:
        self._node: Final = node
        self._rng: Final = rng
        self._flights: Final = flights

    def __getattr__(self, name: str) -> Any:
        return getattr(self._node, name)

    async def propose(
        self,
        command: Message,
        reply: type[A],
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
        fence: Fence | None = None,
    ) -> A:
        """Propose at once, or some time."""
        if self._rng.random() < 0.7:
            return await self._node.propose(command, reply)

        async def arrive() -> None:
            await self._node.propose(command, BatchReply)

        self._flights.append(arrive)
        return reply()


class ConnectorWorld(World):
    """Four workers, three connectors, one cluster, and everything that can go wrong between."""

    #: A second each.
    rounds = 90

    def __init__(self, seed: int) -> None:
        self._cluster: Final = ConnectorCluster(_CONFIG)
        super().__init__(seed, self._cluster.node)
        self._processes: Final = {name: Process(name) for name in _WORKERS}
        self._tasks: Final[dict[bytes, Task]] = {}
        self._cursors: Final[dict[bytes, Cursor]] = {}
        self._holders: Final = Holders()
        self._flights: Final = Flights(self.rng)
        self._slowed: Final = _Slowed(self.node, self.rng, self._flights)
        self.sees = {TASKS: self._see_task, CURSORS: self._see_cursor}

    async def begin(self) -> None:
        """Register the workers, and create the connectors."""
        await self._cluster.found()
        for process in self._processes.values():
            await self._start(process)
        for name in _CONNECTORS:
            await self._create(name)
        self.node.mirrors_lag = True

    def acts(self) -> list[tuple[Act, int]]:
        """Return all that may happen."""
        return [
            (self._learn, 40),
            (self._work, 40),
            (self._say, 32),
            (self._fail, 4),
            (self._beat, 16),
            (self._flights.arrive, 80),
            (self._flights.lose, 3),
            (self._flights.repeat, 3),
            (self._schedule, 20),
            (self._mirror, 20),
            (self._pass_time, 5),
            (self._crash, 1),
            (self._expire, 1),
            (self._come_back, 4),
            (self._sicken, 1),
            (self._aim, 3),
            (self._restart, 2),
            (self._update, 4),
            (self._delete, 1),
            (self._recreate, 2),
            (self._drain, 2),
            (self._elect, 1),
        ]

    # What workers do.

    async def _learn(self) -> None:
        process = self._some_process()
        if process is not None:
            keys = sorted(self._tasks.keys() | process.runs.keys())
            self._read(process, self.rng.sample(keys, (len(keys) + 1) // 2))

    def _read(self, process: Process, keys: list[bytes]) -> None:
        for key in keys:
            process.learn(key, self._tasks.get(key), self._cursors.get(key, Cursor()))

    async def _work(self) -> None:
        process, key, run = self._some_run()
        if process is None:
            return
        run.value += self.rng.randint(1, 3)
        self._send_cursor(process, key, run)

    def _send_cursor(self, process: Process, key: bytes, run: Run) -> None:
        command, number = run.store(), process.number

        async def arrive() -> None:
            before = self._tasks.get(key)
            code = await self.propose(command, Cursor)
            if not code:
                self.counts["progress"] += 1
                check_accepted(before, command.worker_epoch, command.epoch)
            stands = process.number == number and process.runs.get(key) is run
            if stands and code in ("FENCED", "NOT_FOUND"):
                del process.runs[key]
            elif stands:
                # After a conflict too: who has the task knows better than what is kept.
                run.version = self._cursors.get(key, Cursor()).version

        self._flights.append(arrive)

    async def _say(self) -> None:
        process, _, run = self._some_run()
        if process is not None:
            self._report(process, [run])

    async def _fail(self) -> None:
        process, _, run = self._some_run()
        if process is not None and not process.mute:
            self._send(process, [(run, TASK_STATE_FAILED)])

    async def _beat(self) -> None:
        process = self._some_process()
        if process is not None:
            self._report(process, [])

    def _report(self, process: Process, runs: list[Run]) -> None:
        if not process.mute:
            self._send(process, [(run, self._state(process, run)) for run in runs])

    def _state(self, process: Process, run: Run) -> TaskState:
        if run.task.release_by_ms and not process.stubborn:
            return TASK_STATE_STOPPED
        if run.task.id.connector == _BROKEN:
            return TASK_STATE_FAILED
        paused = run.task.target == TARGET_PAUSED
        return TASK_STATE_PAUSED if paused else TASK_STATE_RUNNING

    def _send(self, process: Process, said: list[tuple[Run, TaskState]]) -> None:
        number = process.number
        command = ReportTasks(
            worker=process.name,
            worker_epoch=process.epoch,
            reports=[
                TaskReport(task=run.task.id, epoch=run.task.epoch, state=state, reason="so it is")
                for run, state in said
            ],
        )

        async def arrive() -> None:
            before = dict(self._tasks)
            try:
                reply = await self.node.propose(command, BatchReply)
            except Rejected as refusal:
                self.counts[refusal.code] += 1
                if refusal.code == "FENCED" and process.number == number:
                    process.crash()
                return
            refused = {each.item for each in reply.refusals}
            self.counts["FENCED"] += len(refused)
            for position, (run, state) in enumerate(said):
                key = key_of(run.task.id)
                if position not in refused:
                    self.counts[TaskState.Name(state)] += 1
                    check_accepted(before.get(key), command.worker_epoch, run.task.epoch)
                over = position in refused or state in (TASK_STATE_FAILED, TASK_STATE_STOPPED)
                if over and process.number == number and process.runs.get(key) is run:
                    del process.runs[key]

        self._flights.append(arrive)

    # What happens to workers.

    async def _crash(self) -> None:
        process = self._some_process()
        if process is not None:
            self.counts["crashes"] += 1
            process.crash()

    async def _expire(self) -> None:
        name = self.rng.choice(list(_WORKERS))
        if self._cluster.epoch(name):
            self.counts["expiries"] += 1
            await self._cluster.unregister(name)

    async def _come_back(self) -> None:
        process = self._processes[self.rng.choice(list(_WORKERS))]
        if not process.running or self.rng.random() < 0.2:
            await self._start(process)

    async def _start(self, process: Process) -> None:
        process.start(await self._cluster.register(process.name, **_WORKERS[process.name]))

    async def _sicken(self) -> None:
        process = self._some_process()
        if process is not None:
            self._fall_sick(process)

    def _fall_sick(self, process: Process) -> None:
        process.mute = self.rng.random() < 0.5
        process.stubborn = not process.mute

    # What the cluster and its operators do.

    async def _mirror(self) -> None:
        self.node.mirror()

    async def _schedule(self) -> None:
        await schedule(self._slowed, self.node.leader(GROUP))

    async def _pass_time(self) -> None:
        await self.node.advance(self.rng.choice((100, 500, 1_000, 6_000)))

    async def _elect(self) -> None:
        self.node.elect(GROUP)

    async def _aim(self) -> None:
        target = self.rng.choice((TARGET_PAUSED, TARGET_STOPPED, TARGET_RUNNING, TARGET_RUNNING))
        command = SetConnectorTarget(tenant=TENANT, name=self._some_name(), target=target)
        await self.propose(command, Connector)

    async def _restart(self) -> None:
        await self.propose(RestartTasks(tenant=TENANT, name=self._some_name()), Connector)

    async def _update(self) -> None:
        name = self._some_name()
        command = UpdateConnectorRequest(
            tenant=TENANT,
            name=name,
            definition=ConnectorCluster.definition(
                self.rng.randint(1, 3), _FAILURES, 500, self.rng.choice((_NORTH, {}))
            ),
            discard_progress=True,
        )
        await self.propose(command, Connector)

    async def _delete(self) -> None:
        await self.propose(DeleteConnector(tenant=TENANT, name=self._some_name()), Empty)

    async def _recreate(self) -> None:
        name = self._some_name()
        if self._cluster.connector(name) is None:
            await self._create(name)

    async def _create(self, name: str) -> None:
        command = CreateConnectorRequest(
            tenant=TENANT,
            name=name,
            definition=ConnectorCluster.definition(2, _FAILURES, 500, _CONNECTORS[name]),
        )
        self.counts["created"] += not await self.propose(command, Connector)
        left = [key for key, task in self._tasks.items() if task.id.connector == name]
        if any(key in self._cursors for key in left):
            raise Violation(f"connector {name} is new, and its tasks have progress")

    async def _drain(self) -> None:
        await self._drain_or_not(self.rng.choice(list(_WORKERS)))

    async def _drain_or_not(self, name: str) -> None:
        if self.rng.random() < 0.5:
            await self.propose(DrainWorker(worker=name), Worker)
        else:
            await self.propose(UndrainWorker(worker=name), Worker)

    # How it ends.

    async def heal(self) -> None:
        """Lose nothing any more, and keep only some workers sick."""
        self._flights.clear()
        for process in self._processes.values():
            if not process.running or self._cluster.epoch(process.name) != process.epoch:
                await self._start(process)
        self.node.mirror()
        for name, process in self._processes.items():
            process.mute = process.stubborn = False
            if name in _SOUND:
                await self.propose(UndrainWorker(worker=name), Worker)
            else:
                self._fall_sick(process)
                await self._drain_or_not(name)

    async def everything(self) -> None:
        """Schedule until there is nothing left to do, and let all workers hear and report."""
        await self.node.advance(1_000)
        self.node.mirror()
        for _ in range(4):
            await self.node.run_controller("connector.scheduling")
        self.look()
        for process in self._processes.values():
            self._read(process, sorted(self._tasks.keys() | process.runs.keys()))
            self._report(process, list(process.runs.values()))
        await self.land(self._flights)

    def unrest(self) -> str:
        """Return a task that is not where it should be."""
        rows = self._cluster.workers()
        draining = {name for name, row in rows.items() if row.draining}
        sick = {each.name for each in self._processes.values() if each.mute} | draining
        loads = Counter(task.worker for task in self._tasks.values())
        for task in self._tasks.values():
            if task.state in _ENDS[task.target]:
                continue
            if task.target == TARGET_STOPPED or task.worker in {"", *sick}:
                return f"a task is not where it should be: {task}"
            if task.state not in (TASK_STATE_RUNNING, TASK_STATE_PAUSED) or task.release_by_ms:
                return f"a task has not come to rest: {task}"
            wanted = {label.name: label.value for label in task.labels}.items()
            others = [
                loads[name]
                for name, labels in _WORKERS.items()
                if name not in sick and wanted <= labels.items()
            ]
            if loads[task.worker] - min(others) > 1:
                return f"{task.worker} has more than others: {loads}"
        return ""

    # How it looks at what happened.

    def differences(self) -> list[str]:
        """Return what finds other tasks than there are."""
        return differences(self.node)

    def _see_task(self, event: RowEvent) -> None:
        if event.value is None:
            del self._tasks[event.key]
            return
        task = Task.FromString(event.value)
        check_form(task)
        self._holders.see(event.key, task)
        before = self._tasks.get(event.key)
        if before is not None and before.worker and task.worker not in ("", before.worker):
            raise Violation(f"a task went from one worker to another at once: {before}, {task}")
        wanted = {label.name: label.value for label in task.labels}.items()
        if task.worker and not wanted <= _WORKERS[task.worker].items():
            raise Violation(f"its worker does not have the labels: {task}")
        self.counts["assigned"] += bool(task.worker) and (before is None or not before.worker)
        self._tasks[event.key] = task

    def _see_cursor(self, event: RowEvent) -> None:
        if event.value is None:
            del self._cursors[event.key]
            return
        cursor = Cursor.FromString(event.value)
        check_progress(self._cursors.get(event.key, Cursor()), cursor)
        self._cursors[event.key] = cursor

    def _some_process(self) -> Process | None:
        running = [each for each in self._processes.values() if each.running]
        return self.rng.choice(running) if running else None

    def _some_run(self) -> tuple[Process | None, bytes, Run]:
        runs = [
            (process, key, run)
            for process in self._processes.values()
            if process.running
            for key, run in process.runs.items()
        ]
        return self.rng.choice(runs) if runs else (None, b"", Run(Task(), 0, 0))

    def _some_name(self) -> str:
        return self.rng.choice(list(_CONNECTORS))


#: States of tasks, by their target, that are at rest wherever the workers are.
_ENDS: Final = {
    TARGET_RUNNING: (TASK_STATE_FAILED,),
    TARGET_PAUSED: (TASK_STATE_FAILED,),
    TARGET_STOPPED: (TASK_STATE_FAILED, TASK_STATE_STOPPED),
}
