"""The workers of a machine as processes; these do what a test says in the place of nodes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from quorate.config import load
from quorate.config.workers import workers_of
from quorate.node import supervisor
from quorate.node.directory import NodeDirectory, OtherProcessesError, check_processes
from quorate.node.machine import Machine as MachineAnswers
from quorate.node.supervisor import Supervisor, WorkersEndedError
from quorate.rpc.server import ServingRefusedError
from quorate.storage.engine.options import Budget
from quorate.testing.ports import free_ports
from quorate.testing.waiting import PATIENCE_S

REMOVED = 6
FOR_GOOD = {REMOVED: "was removed from the cluster"}

#: Waits for a signal, and notes that it begins and that it ended in order.
WAITS = """
import pathlib, signal, sys, time
notes = pathlib.Path(sys.argv[1])
def end(*_):
    with notes.open("a") as file: file.write("ended\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
with notes.open("a") as file: file.write("began\\n")
while True: time.sleep(60)
"""


class Machine:
    """A supervisor, and what its workers run."""

    def __init__(self, path: Path, codes: Sequence[str]) -> None:
        self.path = path
        distances = [*range(len(codes) + 1)]
        ports = free_ports(*distances, *(100 + each for each in distances))
        self.port = ports[0]
        file = path / "quorate.toml"
        file.write_text(
            f'[node]\nname = "q"\nport = {self.port}\ndir = "{path}/q"\nworkers = {len(codes)}\n'
        )
        self.settings = load(file, {}, {})
        self.codes = codes

    def supervisor(self) -> Supervisor:
        def command_of(number: int) -> Sequence[str]:
            return [sys.executable, "-c", self.codes[number - 1], str(self._notes(number))]

        return Supervisor(self.settings, workers_of(self.settings), command_of, FOR_GOOD)

    def notes(self, number: int) -> list[str]:
        """Return what a worker has noted."""
        notes = self._notes(number)
        return notes.read_text().split() if notes.exists() else []

    def processes(self) -> Sequence[int]:
        """Return the workers that run."""
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return [
            int(each)
            for each in children
            if str(self.path).encode() in Path(f"/proc/{each}/cmdline").read_bytes()
        ]

    def http(self, path: str) -> tuple[int, str]:
        try:
            with urlopen(f"http://127.0.0.1:{self.port + 100}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def _notes(self, number: int) -> Path:
        return self.path / f"notes{number}"


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(machine: Machine) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(machine.supervisor().run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert machine.processes() == []


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "PAUSE_S", 0.001)


async def test_a_worker_that_dies_is_started_again_and_all_end_together(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [WAITS, f"import os; print(os.getpid())\n{WAITS}"])
    async with running(machine) as task:
        await eventually(lambda: machine.notes(1) == machine.notes(2) == ["began"])
        _, text = await asyncio.to_thread(machine.http, "/metrics")
        assert 'quorate_worker_running{worker="q.1"} 1.0' in text
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        dying = next(
            int(each)
            for each in children
            if str(tmp_path / "notes2") in Path(f"/proc/{each}/cmdline").read_text()
        )
        os.kill(dying, signal.SIGKILL)
        await eventually(lambda: machine.notes(2) == ["began", "began"])
        _, text = await asyncio.to_thread(machine.http, "/metrics")
        assert 'quorate_worker_starts_total{worker="q.1"} 1.0' in text
        assert 'quorate_worker_starts_total{worker="q.2"} 2.0' in text

        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            await task
    assert machine.notes(1) == ["began", "ended"]
    assert machine.notes(2) == ["began", "began", "ended"]


async def test_a_worker_that_ends_again_and_again_is_given_up_and_the_others_go_on(
    tmp_path: Path,
) -> None:
    ends = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write('began\\n'); sys.exit(3)"
    machine = Machine(tmp_path, [WAITS, ends])
    async with running(machine) as task:
        await eventually(lambda: len(machine.notes(2)) == supervisor.MOST_ENDS + 1)

        def given_up() -> bool:
            return "is not restarted" in machine.http("/readyz")[1]

        async with asyncio.timeout(PATIENCE_S):
            while not await asyncio.to_thread(given_up):
                await asyncio.sleep(0.01)
        status, text = await asyncio.to_thread(machine.http, "/readyz")
        assert status == 503
        assert "q.2 ended 6 times within 60 s, the last time with exit code 3" in text
        assert (await asyncio.to_thread(machine.http, "/livez"))[0] == 200
        assert not task.done()
        assert machine.notes(1) == ["began"]


async def test_what_started_the_machine_hears_of_its_life_and_nothing_of_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"quorate-{tmp_path.name}-{os.getpid()}"
    tells = "import os; assert 'NOTIFY_SOCKET' not in os.environ and 'HOME' in os.environ"
    monkeypatch.setenv("HOME", str(tmp_path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hearing:
        hearing.bind(f"\0{name}")
        hearing.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        monkeypatch.setattr(MachineAnswers, "missing", lambda _: [])
        machine = Machine(tmp_path, [f"{tells}\n{WAITS}"] * 2)
        loop = asyncio.get_running_loop()
        async with running(machine) as task, asyncio.timeout(PATIENCE_S):
            assert await loop.sock_recv(hearing, 100) == b"READY=1"
            await eventually(lambda: machine.notes(1) == machine.notes(2) == ["began"])
            os.kill(os.getpid(), signal.SIGTERM)
            assert await loop.sock_recv(hearing, 100) == b"STOPPING=1"
            await task


async def test_workers_that_were_removed_are_not_started_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [f"raise SystemExit({REMOVED})"] * 2)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(WorkersEndedError, match=r"q\.2 was removed from the cluster") as caught:
            await machine.supervisor().run()
    assert caught.value.code == REMOVED


async def test_when_no_worker_can_go_on_it_says_why(tmp_path: Path) -> None:
    machine = Machine(tmp_path, ["raise SystemExit(1)", f"raise SystemExit({REMOVED})"])
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(WorkersEndedError, match=r"q\.1 ended 6 times") as caught:
            await machine.supervisor().run()
    assert caught.value.code is None


@pytest.mark.parametrize(
    ("distance", "said"),
    [
        (0, "for clients, is in use: stop the process that uses it, or set node.port"),
        (1, "for worker q.1, is in use: stop the process that uses it, or set node.port"),
        (102, "for metrics of worker q.2, is in use: stop the process that uses it"),
    ],
)
async def test_ports_that_are_in_use_are_refused(tmp_path: Path, distance: int, said: str) -> None:
    machine = Machine(tmp_path, [WAITS, WAITS])
    # As another worker would listen: who shares a port would take some of its connections.
    with (
        socket.create_server(("127.0.0.1", machine.port + distance), reuse_port=True),
        pytest.raises(ServingRefusedError, match=said),
    ):
        machine.supervisor()


def test_the_directory_of_another_number_of_processes_is_refused(tmp_path: Path) -> None:
    machine = Machine(tmp_path, [WAITS, WAITS])
    node = machine.settings.node
    check_processes(node, 2)
    check_processes(node, 0)
    NodeDirectory(node.dir / "q.1", "q.1", "t", Budget(1 << 20, 1 << 20))
    NodeDirectory(node.dir / "q.2", "q.2", "t", Budget(1 << 20, 1 << 20))
    check_processes(node, 2)
    check_processes(node, 3)
    with pytest.raises(OtherProcessesError, match=r"set node\.workers to their number"):
        check_processes(node, 0)
    NodeDirectory(node.dir / "q.3", "q.3", "t", Budget(1 << 20, 1 << 20))
    with pytest.raises(OtherProcessesError, match=r"quorate member remove q\.3"):
        check_processes(node, 2)
    NodeDirectory(node.dir, "q", "t", Budget(1 << 20, 1 << 20))
    with pytest.raises(OtherProcessesError, match="quorate member remove q`"):
        check_processes(node, 3)
