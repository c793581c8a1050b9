"""Clients that are served exactly once: they repeat what they do not know the end of."""

import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from google.protobuf.message import Message

from quorate.apply.entries import Stamp
from quorate.testing.replica_process.cluster import Answer, Cluster, Process
from quorate.testing.replica_process.logged import core, entry_of, logged
from quorate.testing.waiting import until
from quorate.v1.control_pb2 import OpenSession, OpenSessionReply

C = TypeVar("C", bound=Message)

#: How long an answer is waited for before the command is repeated.
_ANSWER_S: Final = 1.0
#: Of so many commands, one is sent twice at once, as if the network had doubled it.
_DOUBLED: Final = 10


class Session:
    """One exactly-once session with whoever leads."""

    def __init__(self, cluster: Cluster, *, ttl_ms: int = 600_000) -> None:
        self._cluster: Final = cluster
        self._processes: Final = list(cluster.processes.values())
        opened = cluster.propose(core(OpenSession(ttl_ms=ttl_ms)))
        reply = bytes.fromhex(opened["results"][0]["reply"])
        self._id: Final = OpenSessionReply.FromString(reply).session
        self._sequence = 0

    def carry_out(self, *commands: Message) -> list[Answer]:
        """Have commands applied once each, and return what came of them, in order.

        They are under way together, some of them twice, and may be applied in any order.
        """
        first = self._sequence + 1
        self._sequence += len(commands)
        waiting = dict(enumerate(commands, first))
        ended: dict[int, Answer] = {}

        def attempt() -> bool | None:
            process, lowest = self._processes[0], min(waiting)
            entries = {
                sequence: self._entry(command, sequence, lowest)
                for sequence, command in waiting.items()
            }
            asked = {
                sequence: process.begin("Propose", entry, _ANSWER_S)
                for sequence, entry in entries.items()
            }
            doubled = [
                process.begin("Propose", entry, _ANSWER_S)
                for sequence, entry in entries.items()
                if sequence % _DOUBLED == 0
            ]
            for sequence, each in asked.items():
                answer = each.answer()
                if answer["outcome"] == "applied":
                    ended[sequence] = answer["results"][0]
                    del waiting[sequence]
            for each in doubled:
                each.answer()
            if waiting:
                self._processes.append(self._processes.pop(0))
            return not waiting or None

        until(attempt)
        return [ended[sequence] for sequence in sorted(ended)]

    def repeat(self, process: Process, *commands: Message) -> list[Answer]:
        """Ask again for what was carried out last, and return the answers as they come."""
        first = self._sequence - len(commands) + 1
        return [
            process.ask("Propose", self._entry(command, sequence, first))
            for sequence, command in enumerate(commands, first)
        ]

    def _entry(self, command: Message, sequence: int, lowest: int) -> bytes:
        return entry_of([logged(command, Stamp(self._id, sequence, lowest))])


class SessionWriter(Generic[C]):
    """Carries out commands of one session, some at a time, in a thread, inside its context."""

    def __init__(self, cluster: Cluster, commands: Iterator[C], at_once: int) -> None:
        self._cluster: Final = cluster
        self._commands: Final = commands
        self._at_once: Final = at_once
        self._stopping: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._write)
        self._error: Exception | None = None
        #: What was answered, in order.
        self.answered: Final[list[tuple[C, Answer]]] = []

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

    @property
    def ended(self) -> bool:
        """Whether all commands are carried out; raises what went wrong."""
        if self._error is not None:
            raise self._error
        return not self._thread.is_alive()

    def _write(self) -> None:
        try:
            session = Session(self._cluster)
            while not self._stopping.is_set():
                commands = self._take()
                if not commands:
                    return
                answers = session.carry_out(*commands)
                self.answered.extend(zip(commands, answers, strict=True))
        except Exception as error:  # noqa: BLE001 - it is raised where the writer ends
            self._error = error

    def _take(self) -> Sequence[C]:
        return list(islice(self._commands, self._at_once))
