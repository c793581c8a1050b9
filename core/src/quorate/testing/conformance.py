"""The checks that every plugin passes: a plugin's author subclasses `PluginConformance`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final, TypeVar

import pytest
from google.protobuf.message import DecodeError, EncodeError, Message

from quorate.plugin import Rejected
from quorate.plugin.catalog import Catalog
from quorate.plugin.checks import problems_of
from quorate.plugin.declared import Declared
from quorate.plugin.problems import PluginErrors
from quorate.plugin.wire import breaking_changes, golden_of
from quorate.testing import batches, caches, controllers, logs, processes, vocabulary
from quorate.testing.installed import catalog_of
from quorate.testing.node import MemoryNode
from quorate.testing.probes import Doings, probed, raising
from quorate.testing.shard import (
    Entry,
    InternalError,
    LoggedCommand,
    ShardState,
    UnknownCommandError,
)

#: A log is cut into so many entries, and applied in every division of them into batches.
ENTRIES: Final = 5

NodeT = TypeVar("NodeT", bound=MemoryNode)


class PluginConformance:
    """What a plugin promises to its host, one check a test. No Raft, no disk, no sockets.

    `class TestMqtt(PluginConformance): plugin = "mqtt"` is an author's whole file. A plugin whose
    examples leave paths untried overrides `log`.
    """

    #: The name of the plugin under test.
    plugin: ClassVar[str]
    #: Other plugins that it needs beside it.
    beside: ClassVar[tuple[str, ...]] = ()
    #: The descriptor set of the last release, relative to the test's own file.
    golden: ClassVar[str] = "golden/{plugin}.binpb"
    #: A catalog to test in place of the one of the installed plugins.
    catalog: ClassVar[Catalog | None] = None

    #: The configuration that its services and controllers see, by plugin.
    config: ClassVar[Mapping[str, Mapping[str, object]]] = {}

    def log(self) -> Sequence[Message]:
        """Return the commands to apply: the examples in the order of declaration, twice over."""
        return [*self._examples(), *self._examples()]

    def new_shard(self, catalog: Catalog, group: str, state: ShardState | None) -> logs.ApplyFloor:
        """Make a shard of a group, from a state or empty; it applies the logs."""
        return logs.memory_shard(catalog, group, state)

    def test_the_catalog_builds(self) -> None:
        """Names belong to the plugin, references resolve, every declaration is complete."""
        problems = problems_of(list(self._catalog().declared.values()))
        assert not problems, "the plugin's declarations are wrong: " + "; ".join(map(str, problems))

    def test_commands_have_routes_and_examples(self) -> None:
        """Commands and data routes are one to one, and each command has examples."""
        declared = self._declared()
        commands = {each.message.DESCRIPTOR.full_name: each for each in declared.commands}
        routes = {each.message.DESCRIPTOR.full_name for each in declared.routes}
        assert set(commands) == routes, (
            f"without a data route: {sorted(set(commands) - routes)}; "
            f"without a command: {sorted(routes - set(commands))}; declare both"
        )
        bare = [name for name, command in commands.items() if not command.examples]
        assert not bare, f"the commands {bare} have no examples, so nothing can be checked of them"

    def test_examples_survive_the_wire(self) -> None:
        """An example that is encoded and decoded is the same message."""
        for example in self._examples():
            try:
                decoded = type(example).FromString(example.SerializeToString(deterministic=True))
            except (EncodeError, DecodeError) as error:
                pytest.fail(f"{_named(example)} cannot be encoded and decoded: {error}")
            assert decoded == example, f"{_named(example)} is another message once it was encoded"

    def test_examples_are_valid(self) -> None:
        """Every example passes its own `validate`, and has a shard key."""
        for command in self._declared().commands:
            for example in command.examples:
                try:
                    if command.validate is not None:
                        command.validate(example)
                except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
                    pytest.fail(f"validate refuses the {_named(example)}: {error!r}")
                found = batches.shard_keys_of(command, example)
                assert all(isinstance(key, bytes) for key in found), (
                    f"the shard key of the {_named(example)} is not bytes: {found}"
                )

    def test_the_wire_is_unchanged(self) -> None:
        """Logged commands, stored rows and older clients are understood as before."""
        packages = vocabulary.packages_of(self._declared())
        folder = Path(inspect.getfile(type(self))).parent
        golden = folder / self.golden.format(plugin=self.plugin)
        if packages:
            assert golden.is_file(), (
                f"{self.golden.format(plugin=self.plugin)} is missing beside the tests; write it "
                "with: quorate plugin protos DIR --accept, DIR being the plugin's folder"
            )
            current = golden_of(vocabulary.files_of(packages))
            broken = breaking_changes(golden.read_bytes(), current)
            assert not broken, (
                "the protos break what was released: " + "; ".join(broken) + ". Keep the field and "
                "reserve what goes; quorate plugin protos DIR --accept takes it as it is"
            )

    def test_examples_meet_no_bug(self) -> None:
        """A handler replies or raises `Rejected`; anything else is a bug of the plugin."""
        for group, entries in self._entries().items():
            for outcome in logs.apply_each(self._shard(group), entries):
                assert not isinstance(outcome.failure, InternalError), str(outcome.failure)

    def test_only_declared_families_are_touched(self) -> None:
        """Handlers name families of their own group, or those that the route `reads`."""
        for doings in self._doings():
            assert not doings.undeclared, (
                f"the handler of {_named(doings.command)} touches what it does not declare: "
                + "; ".join(doings.undeclared)
            )

    def test_a_command_writes_only_its_own_shard_key(self) -> None:
        """Rows of one command lie where its shard key, or those of its items, send them."""
        catalog = self._catalog()
        for doings in self._doings():
            command = catalog.commands[doings.command.DESCRIPTOR.full_name]
            allowed = batches.shard_keys_of(command, doings.command)
            for family, key in doings.written:
                shard_key = catalog.families[family].shard_key
                assert shard_key is None or shard_key(key) in allowed, (
                    f"{_named(doings.command)} writes key {key!r} of {family}, whose shard key "
                    f"{shard_key(key)!r} is none of its own {sorted(allowed)}"
                )

    def test_the_environment_makes_no_difference(self) -> None:
        """Processes with other hash seeds, time zones and locales get the same rows and replies."""
        played = processes.play_under_conditions(self._catalog(), self._logged())
        for conditions, found in zip(processes.CONDITIONS[1:], played[1:], strict=True):
            assert found == played[0], (
                f"the handlers depend on more than transaction and command: {dict(conditions)} "
                f"differs from {dict(processes.CONDITIONS[0])}, {_difference(played[0], found)}; "
                "look for sets, clocks, randomness, the environment"
            )

    def test_playing_again_makes_no_difference(self) -> None:
        """The same log gives the same rows and replies a second time in the same process."""
        first, second = self._play(), self._play()
        assert first == second, (
            f"a handler remembers something outside its transaction: {_difference(first, second)}"
        )

    def test_batching_makes_no_difference(self) -> None:
        """However the log is divided into apply batches, rows and replies are the same."""
        for group, entries in self._entries().items():
            found: dict[tuple[str, ...], list[int]] = {}
            for division in logs.divisions(logs.cut(entries, ENTRIES)):
                shard = self._shard(group)
                outcomes = [logs.shown(each) for batch in division for each in shard.apply(batch)]
                sizes = [len(batch) for batch in division]
                found.setdefault((shard.digest(), *outcomes), sizes)
            assert len(found) == 1, (
                f"the shard of {group} depends on how its log is batched: batches of "
                + " and of ".join(str(sizes) for sizes in found.values())
                + " entries give different rows or replies"
            )

    def test_replay_from_any_index_gives_the_same_state(self) -> None:
        """A replica that goes on from an exported state ends where the others are."""
        for group, entries in self._entries().items():
            shard = self._shard(group)
            states: list[ShardState | None] = [None]
            outcomes: list[str] = []
            for entry in entries:
                outcomes += map(logs.shown, shard.apply([entry]))
                states.append(shard.export())
            for applied, state in enumerate(states):
                other = self._shard(group, state)
                replayed = list(map(logs.shown, logs.apply_each(other, entries[applied:])))
                assert (other.digest(), replayed) == (shard.digest(), outcomes[applied:]), (
                    f"the shard of {group} that goes on from the state after {applied} commands "
                    "ends elsewhere: a handler remembers what is in no column family"
                )

    def test_a_refusal_writes_nothing(self) -> None:
        """A command that is refused leaves no row, deadline, sequence or event."""
        for group, entries in self._entries().items():
            shard = self._shard(group)
            for entry in entries:
                before = shard.digest()
                [outcome] = shard.apply([entry])
                if outcome.failure is not None:
                    assert (shard.digest(), outcome.events) == (before, ()), (
                        f"{entry.commands[0].type} was refused ({outcome.failure}), and wrote"
                    )

    def test_a_handler_that_fails_at_its_end_writes_nothing(self) -> None:
        """Whatever a handler did is dropped when it refuses or fails after all its work."""
        for error in (Rejected("KIT", "after all work"), RuntimeError("after all work")):
            broken = raising(self._catalog(), error)
            for group, entries in self._entries().items():
                shard = self._shard(group)
                for entry in entries:
                    failing = self.new_shard(broken, group, shard.export())
                    [outcome] = failing.apply([entry])
                    assert (failing.digest(), outcome.events) == (shard.digest(), ()), (
                        f"{entry.commands[0].type} raised {error!r} at its end, and wrote"
                    )
                    shard.apply([entry])

    def test_a_refusal_leaves_no_trace_in_later_commands(self) -> None:
        """The log without its refused commands gives the same rows, and the same other replies."""
        for group, entries in self._entries().items():
            shard, other = self._shard(group), self._shard(group)
            outcomes = logs.apply_each(shard, entries)
            accepted = [
                (entry, logs.shown(outcome))
                for entry, outcome in zip(entries, outcomes, strict=True)
                if outcome.failure is None
            ]
            found = logs.apply_each(other, [entry for entry, _ in accepted])
            assert other.digest() == shard.digest(), (
                f"a command that was refused in {group} changes what later ones write: "
                "a handler remembers something outside its transaction"
            )
            assert list(map(logs.shown, found)) == [text for _, text in accepted], (
                f"a command that was refused in {group} changes what later ones answer: "
                "a handler remembers something outside its transaction"
            )

    def test_an_unknown_command_is_refused_loudly(self) -> None:
        """An entry with a command that nobody applies stops the replica before it writes."""
        for group, entries in self._entries().items():
            shard = self._shard(group)
            before = shard.digest()
            unknown = LoggedCommand(type="quorate.testing.Unknown", payload=b"")
            entry = Entry(index=1, commands=(*entries[0].commands, unknown))
            with pytest.raises(UnknownCommandError, match=unknown.type):
                shard.apply([entry])
            assert shard.digest() == before, (
                f"the shard of {group} wrote something of an entry that holds an unknown command"
            )

    def test_batches_answer_every_item(self) -> None:
        """A batch command that is split over shards answers each item, as one shard would."""
        for command in self._declared().commands:
            for example in command.examples if command.items is not None else ():
                one = self._node(MemoryNode)
                several = self._node(MemoryNode, {command.group: batches.SHARDS})
                wrong = asyncio.run(batches.difference(one, several, command, example))
                assert not wrong, f"the batch {_named(example)}: {wrong}"

    def test_caches_rebuilt_are_caches_kept_up(self) -> None:
        """A cache that was fed every change holds what one holds that is built from the rows."""
        node = self._node(MemoryNode)
        asyncio.run(logs.propose_each(node, self._log()))
        wrong = caches.differences(node, self.plugin)
        assert not wrong, "; ".join(wrong)

    def test_controllers_propose_and_converge(self) -> None:
        """Controllers change state by proposing alone, and have nothing to propose in the end."""
        node = self._node(controllers.WatchedNode)

        async def run() -> list[str]:
            async with node:
                await logs.propose_each(node, self._log())
                return await controllers.faults(node, self.plugin)

        wrong = asyncio.run(run())
        assert not wrong, "; ".join(wrong)

    def test_plugin_module_imports_with_the_base_install(self) -> None:
        """The module of the hooks imports where no extra of quorate is installed."""
        try:
            processes.import_without_extras(self._catalog(), self.plugin)
        except processes.ProcessError as error:
            pytest.fail(f"plugin.py needs more than the base install: {error}; import it later")

    def _catalog(self) -> Catalog:
        if self.catalog is not None:
            return self.catalog
        try:
            return catalog_of([self.plugin, *self.beside])
        except PluginErrors as errors:
            problems = "; ".join(str(error) for error in errors.exceptions)
            pytest.fail(f"the plugin's declarations are wrong: {problems}")

    def _declared(self) -> Declared:
        return self._catalog().declared[self.plugin]

    def _examples(self) -> list[Message]:
        return [example for command in self._declared().commands for example in command.examples]

    def _log(self) -> list[Message]:
        log = list(self.log())
        strangers = {_named(each) for each in log} - set(self._catalog().commands)
        assert not strangers, f"log() returns commands that nobody declares: {sorted(strangers)}"
        return log

    def _logged(self) -> list[LoggedCommand]:
        return logs.logged(self._log())

    def _entries(self) -> dict[str, list[Entry]]:
        return logs.by_group(self._catalog(), self._logged())

    def _shard(self, group: str, state: ShardState | None = None) -> logs.ApplyFloor:
        return self.new_shard(self._catalog(), group, state)

    def _node(self, kind: type[NodeT], shards: Mapping[str, int] | None = None) -> NodeT:
        return kind(catalog=self._catalog(), config=self.config, shards=shards)

    def _play(self) -> logs.Played:
        return logs.play(self._catalog(), self._logged(), self.new_shard)

    def _doings(self) -> list[Doings]:
        noted: list[Doings] = []
        catalog = probed(self._catalog(), noted)
        logs.play(catalog, self._logged(), self.new_shard)
        return noted


def _named(message: Message) -> str:
    return str(message.DESCRIPTOR.full_name)


def _difference(one: logs.Played, other: logs.Played) -> str:
    for position, (a, b) in enumerate(zip(one.outcomes, other.outcomes, strict=True)):
        if a != b:
            return f"first at command {position} of the log: {a} became {b}"
    return "in the rows, with equal replies"
