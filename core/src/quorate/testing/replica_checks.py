"""The checks that need replicas: replicas stay equal, and no command stops them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from google.protobuf.message import DecodeError, Message

from quorate.apply.entries import LoggedCommand
from quorate.apply.program import mirrored
from quorate.plugin import keys
from quorate.plugin.advanced import Table
from quorate.plugin.catalog import Catalog, assemble
from quorate.storage.rows import value_of
from quorate.testing import file_loads, logs
from quorate.testing.carried_out import CarriedOut
from quorate.testing.hostile import poisoned
from quorate.testing.shard import Entry, MemoryShard, ShardState
from quorate.testing.simulated import simulate
from quorate.testing.subject import Subject

#: Number of entries a log is cut into, and applied in every division of them into batches.
ENTRIES: Final = 5
#: Duration of each simulated run with faults, in virtual time.
SIMULATED_S: Final = 3.0
#: The least share of commands that is carried out under faults: others test refusals alone.
LEAST_CARRIED_OUT: Final = 0.5
#: How often a run goes over the log before it begins anew.
PASSES: Final = 1


class ReplicaChecks(Subject):
    """Checks of the replicas of a shard that applies the plugin's commands."""

    def test_batching_makes_no_difference(self) -> None:
        """However the log is divided into apply batches, rows, replies and events are the same."""
        for group, entries in self._entries().items():
            found: dict[tuple[str, ...], list[int]] = {}
            for division in logs.divisions(logs.cut(entries, ENTRIES)):
                shard = self._shard(group)
                outcomes = [repr(each) for batch in division for each in shard.apply(batch)]
                sizes = [len(batch) for batch in division]
                found.setdefault((shard.replica_digest(), *outcomes), sizes)
            assert len(found) == 1, (
                f"the shard of {group} depends on how its log is batched: batches of "
                + " and of ".join(str(sizes) for sizes in found.values())
                + " entries give different rows, replies or events"
            )

    def test_replay_from_any_index_gives_the_same_state(self) -> None:
        """A replica that continues from a snapshot ends in the state of the others."""
        for group, entries in self._entries().items():
            shard = self._shard(group)
            states: list[ShardState | None] = [None]
            outcomes: list[str] = []
            for entry in entries:
                outcomes += map(repr, shard.apply([entry]))
                states.append(shard.export())
            for applied, state in enumerate(states):
                other = self._shard(group, state)
                replayed = list(map(repr, logs.apply_each(other, entries[applied:])))
                whole = (other.replica_digest(), replayed)
                assert whole == (shard.replica_digest(), outcomes[applied:]), (
                    f"the shard of {group} that goes on from the state after {applied} commands "
                    "ends elsewhere: a handler remembers what is in no column family"
                )

    def test_rows_of_files_are_those_of_commands(self) -> None:
        """Rows that are loaded as files equal the rows that the commands of the table write."""
        catalog = self._catalog()
        for name, table, group, commands in self._loaded(catalog):
            write = table.write.DESCRIPTOR.full_name
            compared = 0
            for before, command in commands:
                # If the log has already written the rows, only the host's entries come first.
                hosts = [each for each in before if not logs.is_of_a_plugin(catalog, each)]
                for prefix in (before, hosts):
                    shards = self._shard(group), self._shard(group)
                    for shard in shards:
                        logs.apply_each(shard, prefix)
                    found = file_loads.differing(catalog, table, command, *shards)
                    assert not found, (
                        f"table {name} loaded by files differs from {write} in "
                        f"{', '.join(found)}: write what is about all rows in `settle`"
                    )
                    compared += found is not None
            assert compared, f"no {write} of the log writes new rows alone: give one that does"

    def test_rows_from_columns_are_those_of_items(self) -> None:
        """Rows that a table makes from columns equal the rows that its handler makes from items."""
        catalog = self._catalog()
        for name, table, group, commands in self._loaded(catalog):
            if table.files is None or table.files.columns is None:
                continue
            write = table.write.DESCRIPTOR.full_name
            compared = 0
            for before, command in commands:
                shard = self._shard(group)
                logs.apply_each(shard, before)
                found = file_loads.made_otherwise(catalog, table, command, shard)
                differing = sorted(each for each, differs in (found or {}).items() if differs)
                assert not differing, (
                    f"what table {name} makes from columns differs from what {write} writes in "
                    f"{', '.join(differing)}: let `make` write what its handler writes, or "
                    "`shard_keys` leave such rows to it"
                )
                compared += found is not None
            assert compared, f"no {write} of the log has a row that `shard_keys` takes: give one"

    def test_what_is_read_of_a_batch_is_executed_as_its_message_is(self) -> None:
        """A batch that `Items.read` reads has the keys of its items, and the same outcome."""
        catalog = self._catalog()
        left = {
            command.message.DESCRIPTOR.full_name
            for command in self._declared().commands
            if command.items is not None and command.items.read is not None
        }
        wanted = sorted(left)
        for group, entries in self._entries().items() if wanted else ():
            shard, other = self._shard(group), self._shard(group)
            for entry in entries:
                [logged] = entry.commands
                items = catalog.commands[logged.type].items if logged.type in wanted else None
                if items is not None and items.read is not None:
                    message = catalog.commands[logged.type].message.FromString(logged.payload)
                    read, asked = items.read(message), items.get(message)
                    if read is not None:
                        found = [list(read.shard_keys), list(read.keys)]
                        keys_of = (items.shard_key, items.key or items.shard_key)
                        assert found == [list(map(each, asked)) for each in keys_of], (
                            f"what `read` reads of {logged.type} has other keys than its items"
                        )
                        left.discard(logged.type)
                        logged = logged._replace(read=read)
                [outcome] = shard.apply([entry])
                [again] = other.apply([replace(entry, commands=(logged,))])
                same = (outcome.reply, repr(outcome.failure), outcome.events, shard.digest())
                assert same == (again.reply, repr(again.failure), again.events, other.digest()), (
                    f"what `read` reads of {logged.type} has another outcome than its message"
                )
        assert not left, f"`read` reads no {', '.join(sorted(left))} of the log: give one"

    def _loaded(
        self, catalog: Catalog
    ) -> Iterator[tuple[str, Table, str, list[tuple[list[Entry], Message]]]]:
        """Yield the tables that are loaded by files, each with its group and its commands.

        With each command of the log come the entries before it.
        """
        entries = self._entries()
        for extension in self._declared().extensions:
            table = extension.value
            if not isinstance(table, Table) or table.files is None:
                continue
            write = table.write.DESCRIPTOR.full_name
            group = catalog.commands[write].group
            commands = [
                (entries[group][:place], table.write.FromString(entry.commands[0].payload))
                for place, entry in enumerate(entries[group])
                if entry.commands[0].type == write
            ]
            yield extension.name, table, group, commands

    def test_equal_rows_have_equal_digests(self) -> None:
        """Rows are stored in one encoding, and no digest depends on the order of their writing."""
        catalog = self._catalog()
        for group, entries in self._entries().items():
            shard = self._shard(group)
            logs.apply_each(shard, entries)
            for name, family in catalog.families.items():
                if family.group == group and family.row is not None:
                    fault = _encoding_fault(shard, name, family.row)
                    assert not fault, f"column family {name} {fault}"
            rows = shard.contents()
            digests = set()
            for written in (rows, rows[::-1]):
                other = self._shard(group)
                other.load(written)
                digests.add(other.replica_digest())
            assert len(digests) == 1, (
                f"the digest of the shard of {group} depends on the order in which its "
                f"{len(rows)} rows were written"
            )

    def test_an_unknown_command_is_refused_alone(self) -> None:
        """A command of a newer version is refused by name, and affects no other command."""
        unknown = LoggedCommand("quorate.testing.Unknown", b"")
        for group, entries in self._entries().items():
            shard = self._shard(group)
            logs.apply_each(shard, entries)
            before = shard.digest()
            [outcome] = shard.apply([Entry(index=shard.applied + 1, commands=(unknown,))])
            assert unknown.type in str(outcome.failure), (
                f"{unknown.type!r} is missing in the error of the caller: {outcome.failure}"
            )
            assert shard.digest() == before, f"an unknown command wrote to the shard of {group}"

    def test_a_poison_command_costs_its_caller_alone(self) -> None:
        """A malformed command fails alone, and changes nothing else."""
        for group, entries in self._entries().items():
            shard = self._shard(group)
            outcomes = list(map(repr, logs.apply_each(shard, entries)))
            clean = (shard.digest(), outcomes)
            for command in self._declared().commands:
                if command.group != group:
                    continue
                for what, poison in poisoned(command):
                    self._judge_poison(group, entries, clean, what, poison)

    def test_rows_outlast_their_plugin(self) -> None:
        """A node without the plugin opens the data, reports its families, and keeps every row."""
        catalog = self._catalog()
        others = [each for name, each in catalog.declared.items() if name != self.plugin]
        without = assemble(others)
        for group, entries in self._entries().items():
            own = {family.name for family in self._declared().families if family.group == group}
            # Copies that no other plugin reads stay as well.
            own |= mirrored(catalog, group).keys() - mirrored(without, group).keys()
            shard = self._shard(group)
            logs.apply_each(shard, entries)
            before, applied = shard.digest(), shard.applied
            shard = shard.reopened(without)
            assert set(shard.orphans) == own, (
                f"a node without {self.plugin} reports {sorted(shard.orphans)} as stored and not "
                f"declared, and not {sorted(own)}"
            )
            shard.apply([Entry(index=applied + 1, commands=())])
            shard = shard.reopened(catalog)
            assert (shard.digest(), shard.orphans) == (before, ()), (
                f"rows of {self.plugin} in {group} were lost while the plugin was gone"
            )

    def test_commands_survive_faults(self) -> None:
        """On a simulated cluster under faults no acknowledged command is lost or changed."""
        catalog, carried = self._catalog(), CarriedOut()
        log, begun = self._batched(self.under_faults()), self._batched(self.begun())
        for seed in self.seeds:
            simulate(
                catalog,
                log,
                seed=seed,
                seconds=SIMULATED_S,
                judges=[carried],
                copied=self._copied(),
                begun=begun,
                passes=PASSES,
            )
        print(f"{self.plugin} under faults: {carried}")
        accepted, _ = self._replayed()
        lost = carried.without(accepted)
        assert not lost, (
            f"under faults, with the seeds {', '.join(map(str, self.seeds))}, what a plain replay "
            f"accepts was never accepted: {'; '.join(lost)}; let begun() return what it needs "
            "before, or under_faults() name what is there under faults"
        )
        assert carried.share >= LEAST_CARRIED_OUT, (
            f"under faults only {carried}, refused most often: {carried.most_refused()}; let "
            "begun() and under_faults() return commands that are carried out"
        )

    def _judge_poison(
        self,
        group: str,
        entries: Sequence[Entry],
        clean: tuple[str, list[str]],
        what: str,
        poison: LoggedCommand,
    ) -> None:
        shard = self._shard(group)
        # After all other commands of the first entry: their revisions stay what they are.
        first = replace(entries[0], commands=(*entries[0].commands, poison))
        try:
            outcomes = shard.apply([first])
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            raise AssertionError(
                f"{poison.type} with {what} stops the replica with {type(error).__name__}: "
                f"{error}; a handler raises Rejected or an Exception"
            ) from error
        if outcomes[-1].failure is None:
            # The handler has applied it: for this plugin it is not poison.
            return
        shown = [repr(each) for each in outcomes[:-1]]
        shown += map(repr, logs.apply_each(shard, entries[1:]))
        assert (shard.digest(), shown) == clean, (
            f"{poison.type} with {what} was refused ({outcomes[-1].failure}), and yet changes what "
            "other commands write or answer: a handler remembers something outside its transaction"
        )


def _encoding_fault(shard: MemoryShard, family: str, row: type[Message]) -> str:
    for row_family, key, stored in shard.contents():
        if row_family != family:
            continue
        value = value_of(stored)
        try:
            message = row.FromString(value)
        except DecodeError:
            return f"holds a row under {keys.shown(key)} that is no {row.DESCRIPTOR.full_name}"
        if message.SerializeToString(deterministic=True) != value:
            return (
                f"holds a row under {keys.shown(key)} that is not in the one encoding of its "
                "message: write it with SerializeToString(deterministic=True)"
            )
    return ""
