"""One simulated worker: what its process believes, which may be long out of date."""

from __future__ import annotations

from dataclasses import dataclass, field

from quorate_connector.v1.tasks_pb2 import Cursor, StoreCursor, Task


@dataclass(slots=True)
class Run:
    """A task that a process runs."""

    task: Task
    #: How far it has come, and the version of the cursor that it believes to be kept.
    value: int
    version: int

    def store(self) -> StoreCursor:
        """Return the command that keeps how far it has come."""
        return StoreCursor(
            task=self.task.id,
            worker_epoch=self.task.worker_epoch,
            epoch=self.task.epoch,
            expected_version=self.version,
            value=str(self.value).encode(),
        )


@dataclass(slots=True)
class Process:
    """A worker; everything that it knows ends with the process."""

    name: str
    running: bool = False
    number: int = 0
    epoch: int = 0
    #: It does not say that it is alive, though it is.
    mute: bool = False
    #: It does not let go of what it is to let go of.
    stubborn: bool = False
    runs: dict[bytes, Run] = field(default_factory=dict)

    def start(self, epoch: int) -> None:
        """Begin a process that has registered."""
        self.running = True
        self.number += 1
        self.epoch = epoch
        self.mute = self.stubborn = False
        self.runs.clear()

    def crash(self) -> None:
        """End the process."""
        self.running = False
        self.runs.clear()

    def learn(self, key: bytes, task: Task | None, cursor: Cursor) -> None:
        """Read the row of a task: begin it, go on with it, or end it."""
        if task is None or (task.worker, task.worker_epoch) != (self.name, self.epoch):
            self.runs.pop(key, None)
        elif key not in self.runs or self.runs[key].task.epoch != task.epoch:
            self.runs[key] = Run(task, int(cursor.value or b"0"), cursor.version)
        else:
            self.runs[key].task = task
