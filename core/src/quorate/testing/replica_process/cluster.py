"""Processes as a test holds them: started, asked, killed, and ended for sure."""

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import grpc

from quorate.apply.entries import LoggedCommand
from quorate.consensus.timing import Timing
from quorate.groups.shard.log_keeper import LogPolicy
from quorate.groups.shard.space import MARGIN_BYTES
from quorate.observe.failpoints import VARIABLE
from quorate.testing.channels import channel
from quorate.testing.ports import HeldPort
from quorate.testing.program import Program
from quorate.testing.replica_process.logged import entry_of
from quorate.testing.replica_process.node import SERVICE
from quorate.testing.replica_process.settings import Settings
from quorate.testing.waiting import PATIENCE_S, until

Answer = dict[str, Any]


class Asked:
    """A question on its way to a process."""

    def __init__(self, call: Any) -> None:
        self._call: Final = call

    def answer(self) -> Answer:
        """Wait for the answer; one that does not come has the outcome `unreachable`."""
        if self._call is None:
            return {"outcome": "unreachable", "why": "the process was just ended"}
        try:
            answer: Answer = self._call.result()
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            return {"outcome": "unreachable", "why": str(error)}
        return answer


class Process:
    """One process; `prefix` is a command that runs it, such as strace."""

    def __init__(self, settings: Settings, prefix: Sequence[str] = ()) -> None:
        self.settings: Final = settings
        #: What it is killed at when it is started the next time, by the name of the failpoint.
        self.failpoint = ""
        self.node: Final = settings.node
        self._prefix: Final = tuple(prefix)
        self._program: Final = Program(self.node, settings.directory.with_suffix(".log"))
        self._channel: grpc.Channel | None = None

    @property
    def said(self) -> str:
        """What it wrote to its standard error, in all its lives."""
        return self._program.said

    @property
    def pid(self) -> int:
        """The id of the process; of its prefix if it has one."""
        return self._program.pid

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._program.runs

    def start(self) -> None:
        """Start it, on the directory that it had."""
        module = [sys.executable, "-m", "quorate.testing.replica_process"]
        self._program.start(
            [*self._prefix, *module, *self.settings.arguments()],
            {**os.environ, "GRPC_VERBOSITY": "ERROR", **self._failpoints()},
        )

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        return self._end(signal.SIGTERM)

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, such as SIGSTOP."""
        self._program.send_signal(number)

    def wait(self) -> int:
        """Wait until it ends by itself, and return its exit code."""
        return self._program.wait()

    def close(self) -> None:
        """End it whatever it does."""
        self._program.close()
        self._disconnect()

    def ask(self, method: str, content: bytes = b"", timeout_s: float = PATIENCE_S) -> Answer:
        """Ask it; an answer that does not come has the outcome `unreachable`."""
        return self.begin(method, content, timeout_s).answer()

    def begin(self, method: str, content: bytes = b"", timeout_s: float = PATIENCE_S) -> Asked:
        """Ask it without waiting."""
        call = self._connected().unary_unary(f"/{SERVICE}/{method}", _raw, json.loads)
        try:
            return Asked(call.future(content, timeout=timeout_s))
        except ValueError:
            return Asked(None)

    def propose(self, *commands: LoggedCommand, timeout_s: float = 2.0) -> Answer:
        """Propose commands, all of them in one entry."""
        return self.ask("Propose", entry_of(commands), timeout_s)

    def status(self) -> Answer:
        """Ask what its replica does."""
        return self.ask("Status", timeout_s=2.0)

    def get(self, family: str, key: bytes, *, linearizable: bool = True) -> bytes | None:
        """Return the value of a row; raises `AssertionError` when it cannot be read."""
        asked = {"family": family, "key": key.hex(), "linearizable": linearizable}
        answer = self.ask("Get", json.dumps(asked).encode())
        if answer["outcome"] != "read":
            raise AssertionError(answer)
        return None if answer["value"] is None else bytes.fromhex(answer["value"])

    def _failpoints(self) -> dict[str, str]:
        return {VARIABLE: f"{self.failpoint}=kill"} if self.failpoint else {}

    def _connected(self) -> grpc.Channel:
        if self._channel is None:
            self._channel = channel(self.settings.addresses[self.node])
        return self._channel

    def _end(self, number: signal.Signals) -> int:
        code = self._program.end(number)
        self._disconnect()
        return code

    def _disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


class Cluster:
    """Processes that form a cluster; leaving the context ends them all.

    `ways` gives the address by which the others reach a node whose own address it is given.
    """

    def __init__(
        self,
        directory: Path,
        nodes: Sequence[str] = ("a", "b", "c"),
        *,
        later: Sequence[str] = (),
        timing: Timing | None = None,
        fsync: bool = True,
        marks: bool = False,
        prefixes: Mapping[str, Sequence[str]] | None = None,
        tail_entries: int = LogPolicy().tail_entries,
        margin_bytes: int = MARGIN_BYTES,
        stops: bool = False,
        deviants: Collection[str] = (),
        ways: Callable[[str, str], str] = lambda _, address: address,
    ) -> None:
        everyone = (*nodes, *later)
        self._exit: Final = ExitStack()
        addresses = {node: self._exit.enter_context(HeldPort()).address for node in everyone}
        self.processes: Final[dict[str, Process]] = {}
        for node in everyone:
            settings = Settings(
                node=node,
                addresses={
                    other: address if other == node else ways(other, address)
                    for other, address in addresses.items()
                },
                initial_members=tuple(nodes) if node in nodes else (),
                directory=directory / node,
                fsync=fsync,
                marks=marks,
                timing=timing or Timing(),
                tail_entries=tail_entries,
                margin_bytes=margin_bytes,
                stops=stops,
                deviant=node in deviants,
            )
            process = Process(settings, (prefixes or {}).get(node, ()))
            self._exit.callback(process.close)
            self.processes[node] = process
        self._initial: Final = tuple(nodes)

    def __enter__(self) -> Self:
        for node in self._initial:
            self.processes[node].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exit.close()

    def empty(self, node: str) -> Process:
        """Give a node that does not run an empty directory, with which it joins when started."""
        emptied = self.processes[node]
        shutil.rmtree(emptied.settings.directory)
        joining = Process(replace(emptied.settings, initial_members=()))
        self._exit.callback(joining.close)
        self.processes[node] = joining
        return joining

    def leader(self) -> Process:
        """Wait for the leader of the latest term that serves its slots, and return it."""

        def find() -> Process | None:
            led = [
                (status["term"], node)
                for node, process in self.processes.items()
                if process.runs
                and (status := process.status()).get("role") == "leader"
                and status["commit"] == status["last"]
                and status["slots"]
            ]
            return self.processes[max(led)[1]] if led else None

        return until(find)

    def followers(self) -> list[Process]:
        """Return the processes that run and do not lead."""
        leader = self.leader()
        return [each for each in self.processes.values() if each.runs and each is not leader]

    def note(self, name: bytes) -> Answer:
        """Have a name noted by somebody. It may be noted more than once."""
        return self._apply("Note", name)

    def propose(self, *commands: LoggedCommand) -> Answer:
        """Propose until somebody applies it. Without a session, that may happen more than once."""
        return self._apply("Propose", entry_of(commands))

    def digests(self) -> dict[str, str]:
        """Return the digest of every process that runs, once all have applied the same."""

        def find() -> dict[str, str] | None:
            found = {
                node: process.ask("Digest")
                for node, process in self.processes.items()
                if process.runs
            }
            indexes = {answer.get("index") for answer in found.values()}
            if len(indexes) > 1 or None in indexes:
                return None
            return {node: answer["digest"] for node, answer in found.items()}

        return until(find)

    def _apply(self, method: str, content: bytes) -> Answer:
        order = list(self.processes.values())

        def attempt() -> Answer | None:
            for process in order:
                if not process.runs:
                    continue
                answer = process.ask(method, content, timeout_s=1.0)
                if answer["outcome"] == "applied":
                    order.remove(process)
                    order.insert(0, process)
                    return answer
            return None

        return until(attempt)

    def read(self) -> list[str]:
        """Return what every process that runs holds, by linearizable reads.

        Raises `AssertionError` when two of them differ.
        """
        answers = [until(partial(_read, each)) for each in self.processes.values() if each.runs]
        shortest: list[str] = min((answer["heads"] for answer in answers), key=len)
        for answer in answers:
            if answer["heads"][: len(shortest)] != shortest:
                raise AssertionError("two replicas have applied different commands")
        return shortest


class Writer:
    """Proposes one name after the other, in a thread, from entering its context to leaving it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster
        self._stopping: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._write)
        self._error: Exception | None = None
        #: The names that were acknowledged, in order.
        self.acknowledged: Final[list[str]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def goes_on(self, proposals: int = 20) -> None:
        """Wait until so many more proposals were acknowledged."""
        wanted = len(self.acknowledged) + proposals
        until(lambda: len(self.acknowledged) >= wanted or self._error or None)

    def _write(self) -> None:
        try:
            while not self._stopping.is_set():
                name = f"written {len(self.acknowledged)}"
                self._cluster.note(name.encode())
                self.acknowledged.append(name)
        except Exception as error:  # noqa: BLE001 - it is raised where the writer ends
            self._error = error


def _read(process: Process) -> Answer | None:
    answer = process.ask("Read", timeout_s=2.0)
    return answer if answer["outcome"] == "read" else None


def _raw(content: bytes) -> bytes:
    return content
