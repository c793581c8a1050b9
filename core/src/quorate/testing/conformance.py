"""The checks that every plugin passes: a plugin's author subclasses `PluginConformance`."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError, EncodeError

from quorate.plugin import ColumnFamily, Rejected, keys
from quorate.plugin.advanced import CONSTANT_KEY
from quorate.plugin.checks import problems_of
from quorate.plugin.needs import undeclared
from quorate.plugin.wire import breaking_changes, golden_of
from quorate.testing import (
    batches,
    caches,
    controllers,
    logs,
    processes,
    reading,
    timing,
    vocabulary,
)
from quorate.testing.hostile import extremes
from quorate.testing.node import MemoryNode
from quorate.testing.probes import raising
from quorate.testing.replica_checks import ReplicaChecks
from quorate.testing.shard import InternalError
from quorate.testing.subject import named


class PluginConformance(ReplicaChecks):
    """The contract of a plugin with its host, one check per test. No disk, no sockets, no waiting.

    `class TestMqtt(PluginConformance): plugin = "mqtt"` is an author's whole file. A plugin whose
    examples leave paths untried overrides `log`, and one whose queries need arguments `queries`.
    """

    def test_the_catalog_builds(self) -> None:
        """Names belong to the plugin, references resolve, every declaration is complete."""
        wrong = self._installed()
        assert not isinstance(wrong, str), f"the plugin's declarations are wrong: {wrong}"
        problems = problems_of(list(self._catalog().declared.values()))
        assert not problems, "the plugin's declarations are wrong: " + "; ".join(map(str, problems))

    def test_commands_have_examples(self) -> None:
        """Each command has examples."""
        commands = self._declared().commands
        bare = [each.message.DESCRIPTOR.full_name for each in commands if not each.examples]
        assert not bare, f"the commands {bare} have no examples, so nothing can be checked of them"

    def test_examples_survive_the_wire(self) -> None:
        """An example that is encoded and decoded is the same message."""
        for example in self._examples():
            try:
                decoded = type(example).FromString(example.SerializeToString(deterministic=True))
            except (EncodeError, DecodeError) as error:
                pytest.fail(f"{named(example)} cannot be encoded and decoded: {error}")
            assert decoded == example, f"{named(example)} is another message once it was encoded"

    def test_examples_are_valid(self) -> None:
        """Every example passes its own `validate`, and has a shard key."""
        for command in self._declared().commands:
            for example in command.examples:
                try:
                    if command.validate is not None:
                        command.validate(example)
                except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
                    pytest.fail(f"validate refuses the {named(example)}: {error!r}")
                found = batches.shard_keys_of(command, example)
                assert all(isinstance(key, bytes) for key in found), (
                    f"the shard key of the {named(example)} is not bytes: {found}"
                )

    def test_what_callers_need_is_found_in_examples(self) -> None:
        """The tenant and the key that the sender of a public command needs can be determined."""
        for command in self._declared().commands:
            if command.access is None:
                continue
            for example in command.examples:
                items = [example] if command.items is None else command.items.get(example)
                try:
                    found = [place for item in items for place in command.access.touched(item)]
                except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
                    pytest.fail(f"access of the {named(example)} cannot be determined: {error!r}")
                assert all(isinstance(tenant, str) for tenant, _ in found), (
                    f"access of the {named(example)} has a tenant that is no text: {found}"
                )

    def test_what_admins_alone_may_use_is_meant_for_them(self) -> None:
        """Commands and methods without a declared access are for admins alone."""
        declared = self._declared()
        commands = {each.message.DESCRIPTOR.full_name: each for each in declared.commands}
        found = set(undeclared(self.plugin, declared.services, commands))
        assert found == set(self.admin_only), (
            f"only admins may use {', '.join(sorted(found ^ set(self.admin_only)))}: give the "
            "command, or the method in the access of its GrpcService or Resource, an Access, or "
            "name it in admin_only"
        )

    def test_the_wire_is_unchanged(self) -> None:
        """Logged commands, stored rows and older clients stay compatible."""
        packages = vocabulary.packages_of(self._declared()) | set(self.wire)
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

    def test_every_command_is_accepted_once(self) -> None:
        """At least one example of each command is applied: a refused one tests too little."""
        accepted, every = self._replayed()
        found = {name: why for name, why in every.items() if name not in accepted}
        carried_out = sorted(set(self.only_refused) - set(found))
        assert not carried_out, f"only_refused names what is carried out: {carried_out}"
        refused = [
            f"every {name} of the log was refused ({'; '.join(dict.fromkeys(why))})"
            for name, why in found.items()
            if name not in self.only_refused
        ]
        assert not refused, (
            "; ".join(refused) + "; nothing is known of what they do when they are not: give them "
            "examples that what stands before them in the log makes right, or override log()"
        )

    def test_handlers_keep_their_budget(self) -> None:
        """No handler takes long: everything else of its shard waits for it."""
        best = timing.best_of(timing.ROUNDS, self._catalog(), self._play_with)
        slow = {each: took_s for each, took_s in best.items() if took_s > timing.MOST_S}
        assert not slow, (
            f"a handler has {timing.BUDGET_S * 1_000:.0f} ms, and these took much longer at best: "
            + ", ".join(f"{each.name} {took_s * 1_000:.0f} ms" for each, took_s in slow.items())
            + "; read and write less in one command, and split the work into several"
        )

    def test_the_largest_numbers_meet_no_bug(self) -> None:
        """A handler applies or refuses extreme numbers that `validate` accepts, and never fails."""
        own = {each.message.DESCRIPTOR.full_name: each for each in self._declared().commands}
        for group, entries in self._entries().items():
            shard = self._shard(group)
            for entry in entries:
                [logged] = entry.commands
                command = own.get(logged.type)
                # Earlier commands of the log create the rows that it needs.
                state = None if command is None else shard.export()
                for number, extreme in extremes(command, logged.payload) if command else ():
                    other = self._shard(group, state)
                    [outcome] = other.apply([replace(entry, commands=(extreme,))])
                    assert not isinstance(outcome.failure, InternalError), (
                        f"{number} of {logged.type} is for validate to refuse: {outcome.failure}"
                    )
                shard.apply([entry])

    def test_only_declared_families_are_touched(self) -> None:
        """Handlers name only families of their own group, and the `reads` of their route."""
        for doings in self._doings():
            assert not doings.undeclared, (
                f"the handler of {named(doings.command)} touches what it does not declare: "
                + "; ".join(doings.undeclared)
            )

    def test_a_command_writes_only_its_own_shard_key(self) -> None:
        """A command writes only rows with its own shard key, or with those of its items."""
        catalog = self._catalog()
        for doings in self._doings():
            command = catalog.commands[doings.command.DESCRIPTOR.full_name]
            allowed = batches.shard_keys_of(command, doings.command)
            for family, key in doings.written:
                where = _shard_key_of(catalog.families[family], key)
                assert where is None or where in allowed, (
                    f"{named(doings.command)} writes key {keys.shown(key)} of {family}, whose "
                    f"shard key {keys.shown(where)} is none of its own: "
                    + ", ".join(map(keys.shown, sorted(allowed)))
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
        """All writes of a handler are dropped when it refuses or fails after all its work."""
        for error in (Rejected("KIT", "after all work"), RuntimeError("after all work")):
            broken = raising(self._catalog(), error)
            for group, entries in self._entries().items():
                shard = self._shard(group)
                for entry in entries:
                    if not logs.is_of_a_plugin(broken, entry):
                        shard.apply([entry])
                        continue
                    failing = self.shard_type(broken, group, state=shard.export())
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
                (entry, repr(outcome))
                for entry, outcome in zip(entries, outcomes, strict=True)
                if outcome.failure is None
            ]
            found = logs.apply_each(other, [entry for entry, _ in accepted])
            assert other.digest() == shard.digest(), (
                f"a command that was refused in {group} changes what later ones write: "
                "a handler remembers something outside its transaction"
            )
            assert list(map(repr, found)) == [text for _, text in accepted], (
                f"a command that was refused in {group} changes what later ones answer: "
                "a handler remembers something outside its transaction"
            )

    def test_batches_answer_every_item(self) -> None:
        """A batch command that is split over shards answers each item, as one shard would."""
        for command in self._declared().commands:
            for example in command.examples if command.items is not None else ():
                one = self._node(MemoryNode)
                several = self._node(MemoryNode, {command.group: batches.SHARDS})
                wrong = asyncio.run(batches.difference(one, several, command, example))
                assert not wrong, f"the batch {named(example)}: {wrong}"

    def test_caches_rebuilt_are_caches_kept_up(self) -> None:
        """A cache that was fed every change equals one that is built from the rows."""
        node = self._node(MemoryNode)
        asyncio.run(logs.propose_each(node, self._log()))
        wrong = caches.differences(node, self.plugin)
        assert not wrong, "; ".join(wrong)

    def test_queries_read_what_they_declare_and_answer_in_order(self) -> None:
        """A query is bounded, repeatable, and sorted by the order that merges its answers."""
        for group, entries in self._entries().items():
            shard = self._shard(group)
            logs.apply_each(shard, entries)
            for message in self.queries():
                if self._catalog().queries[named(message)].group == group:
                    wrong = reading.fault(self._catalog(), message, shard)
                    assert not wrong, f"the query {named(message)} {wrong}"

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
            processes.import_without_extras(self._declared().plugin)
        except processes.ProcessError as error:
            pytest.fail(f"plugin.py needs more than the base install: {error}; import it later")


def _shard_key_of(family: ColumnFamily, key: bytes) -> bytes | None:
    """Return the shard key of a row; None: a private row without a shard key is its shard's own."""
    if family.shard_key is not None:
        return family.shard_key(key)
    return None if family.row is None else CONSTANT_KEY
