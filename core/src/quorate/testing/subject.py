"""The subject of the conformance checks: a plugin, its log, and the shards that apply it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar

import pytest
from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.plugin.catalog import Catalog
from quorate.plugin.declared import Declared
from quorate.plugin.problems import PluginErrors
from quorate.plugin.singles import batch_of
from quorate.testing import batches, logs
from quorate.testing.installed import catalog_of
from quorate.testing.node import MemoryNode
from quorate.testing.probes import Doings, probed
from quorate.testing.shard import Entry, InternalError, MemoryShard, ShardState, command_of

NodeT = TypeVar("NodeT", bound=MemoryNode)


class Subject:
    """The plugin under test; an author overrides attributes and methods that do not fit it."""

    #: The name of the plugin under test.
    plugin: ClassVar[str]
    #: Other plugins that it depends on.
    beside: ClassVar[tuple[str, ...]] = ()
    #: The descriptor set of the last release, relative to the test's own file.
    golden: ClassVar[str] = "golden/{plugin}.binpb"
    #: Python packages with further generated code: messages of ports that are the plugin's own.
    wire: ClassVar[Sequence[str]] = ()
    #: A catalog to test in place of the one of the installed plugins.
    catalog: ClassVar[Catalog | None] = None

    #: What `_installed` has found for this class.
    _found: ClassVar[Catalog | str]

    #: Commands, by full name, that the log only shows refused: other tests cover their effects.
    only_refused: ClassVar[Sequence[str]] = ()

    #: Public commands, by full name, and methods, as `<service>/<method>`, that declare no access,
    #: because they are meant for admins alone.
    admin_only: ClassVar[Sequence[str]] = ()

    #: The seeds of the simulated runs: each is a separate cluster with its own faults.
    seeds: ClassVar[Sequence[int]] = (1, 2, 3, 4, 5)

    #: The type of the shards that apply the logs.
    shard_type: ClassVar[type[MemoryShard]] = MemoryShard

    #: The configuration that its services and controllers see, by plugin.
    config: ClassVar[Mapping[str, Mapping[str, object]]] = {}

    def log(self) -> Sequence[Message]:
        """Return the commands to apply: the examples in the order of declaration, twice over."""
        return [*self._examples(), *self._examples()]

    def queries(self) -> Sequence[Message]:
        """Return the queries to run after the log: an empty message of each declared query."""
        return [query.message() for query in self._declared().queries]

    def begun(self) -> Sequence[Message]:
        """Return what is committed before faults begin: the commands of others in the log."""
        return [each for each in self.log() if not self._is_own(each)]

    def under_faults(self) -> Sequence[Message]:
        """Return the commands to propose under faults: the plugin's own commands of the log."""
        return [each for each in self.log() if self._is_own(each)]

    def _is_own(self, message: Message) -> bool:
        own = {each.message for each in self._declared().commands}
        return type(batch_of(self._catalog().singles, message) or message) in own

    def _catalog(self) -> Catalog:
        found = self._installed()
        if isinstance(found, str):
            # One mistake is one failure; without a catalog there is nothing else to check.
            pytest.skip("the plugin's declarations are wrong: see test_the_catalog_builds")
        return found

    @classmethod
    def _installed(cls) -> Catalog | str:
        """Return the catalog under test, or the errors of the installed plugins that prevent it.

        It is found once for all checks: each is an object of its own, and discovery is slow.
        """
        if cls.catalog is not None:
            return cls.catalog
        found: Catalog | str | None = vars(cls).get("_found")
        if found is None:
            try:
                found = catalog_of([cls.plugin, *cls.beside])
            except PluginErrors as errors:
                found = "; ".join(map(str, errors.exceptions))
            except LookupError as error:
                found = str(error)
            cls._found = found
        return found

    def _declared(self) -> Declared:
        return self._catalog().declared[self.plugin]

    def _examples(self) -> list[Message]:
        return [example for command in self._declared().commands for example in command.examples]

    def _log(self) -> list[Message]:
        log = self._batched(self.log())
        strangers = {named(each) for each in log} - set(self._catalog().commands)
        assert not strangers, f"log() returns commands that no plugin declares: {sorted(strangers)}"
        return log

    def _batched(self, messages: Sequence[Message]) -> list[Message]:
        singles = self._catalog().singles
        return [batch_of(singles, each) or each for each in messages]

    def _entries(self) -> dict[str, list[Entry]]:
        return logs.by_group(self._catalog(), self._logged())

    def _copied(self) -> dict[str, dict[bytes, bytes]]:
        """Return the rows of mirrored families that the log's other groups read: its tenants."""
        return logs.copied(entry for each in self._entries().values() for entry in each)

    def _logged(self) -> list[LoggedCommand]:
        return list(map(command_of, self._log()))

    def _shard(self, group: str, state: ShardState | None = None) -> MemoryShard:
        return self.shard_type(self._catalog(), group, state=state)

    def _node(self, kind: type[NodeT], shards: Mapping[str, int] | None = None) -> NodeT:
        return kind(catalog=self._catalog(), config=self.config, shards=shards)

    def _replayed(self) -> tuple[set[str], dict[str, list[str]]]:
        """Return the plugin's commands that a plain replay accepts, and those it refuses.

        One that meets a bug is neither.
        """
        own = {named(each.message()): each for each in self._declared().commands}
        refused: dict[str, list[str]] = {}
        accepted: set[str] = set()
        for group, entries in self._entries().items():
            outcomes = logs.apply_each(self._shard(group), entries)
            for entry, outcome in zip(entries, outcomes, strict=True):
                name = entry.commands[0].type
                if name not in own or isinstance(outcome.failure, InternalError):
                    continue
                why = batches.refusals_of(own[name], outcome.reply, outcome.answered)
                if outcome.failure is not None:
                    why = [str(outcome.failure)]
                if why:
                    refused.setdefault(name, []).extend(why)
                else:
                    accepted.add(name)
        return accepted, refused

    def _doings(self) -> list[Doings]:
        noted: list[Doings] = []
        self._play_with(probed(self._catalog(), noted))
        return noted

    def _play_with(self, catalog: Catalog) -> None:
        for group, entries in logs.by_group(catalog, self._logged()).items():
            logs.apply_each(self.shard_type(catalog, group), entries)


def named(message: Message) -> str:
    """Return the full name of a message."""
    return str(message.DESCRIPTOR.full_name)
