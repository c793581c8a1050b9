"""A log of the simulation's domain, entry by entry, and the facts of its application."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from google.protobuf.message import Message
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin

from tests.support.sim.facts import Applied, Evaluated
from tests.support.sim.replays import Replays
from tests.support.sim.v1.domain_pb2 import Add, Write

SHARD = "sim/0"
A = Peer("a", 1)


class Log:
    """What a shard's log holds, and what it comes to."""

    def __init__(self) -> None:
        self.replays = Replays()
        self.model = self.replays.of(SHARD)
        self._index = 0

    def command(self, message: Message, stamp: Stamp | None = None) -> LoggedCommand:
        """Return a command of the domain, or of core."""
        return LoggedCommand(
            message.DESCRIPTOR.full_name, message.SerializeToString(), (), stamp, True
        )

    def write(self, operation: int, key: str = "k", stamp: Stamp | None = None) -> LoggedCommand:
        """Return a command that sets a register."""
        return self.command(Write(operation=operation, key=key, content=b"x"), stamp)

    def add(self, operation: int, stamp: Stamp | None = None) -> LoggedCommand:
        """Return a command that adds 2 to a counter."""
        return self.command(Add(operation=operation, key="c", amount=2), stamp)

    def applied(
        self, *commands: LoggedCommand, at_ms: int = 0, index: int = 0, term: int = 1
    ) -> Applied:
        """Return the fact of the next entry, or of the one at `index`."""
        self._index = index or self._index + 1
        payload = repr((at_ms, commands)).encode()
        self.replays.see(Evaluated(SHARD, A, self._index, payload, commands, at_ms))
        return Applied(SHARD, A, Entry(self._index, term, EntryKind.COMMAND, payload))

    def take(self, *commands: LoggedCommand, at_ms: int = 0) -> Applied:
        """Let the reference take the next entry."""
        fact = self.applied(*commands, at_ms=at_ms)
        self.replays.see(fact)
        return fact

    def take_all(self, entries: Sequence[Sequence[LoggedCommand]]) -> None:
        """Let the reference take entries."""
        for commands in entries:
            self.take(*commands)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The plugin that the kit of core is tested with."""
    core = Path(__file__).parents[4] / "core" / "tests" / "testing"
    monkeypatch.syspath_prepend(core / "plugins")
    return import_module("kit_sample.plugin")


@pytest.fixture
def catalog(sample: ModuleType) -> Catalog:
    plugin = Plugin(name="sample", distribution="s", version="1", module=sample)
    return assemble([declare(plugin)])
