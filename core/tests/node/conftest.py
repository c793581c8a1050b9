"""Nodes in this process, on loopback ports of their own, with a small plugin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from google.protobuf.wrappers_pb2 import BytesValue, StringValue
from pydantic import BaseModel, ConfigDict, Field
from quorate.config import load
from quorate.node.node import Node
from quorate.plugin import (
    Cache,
    ColumnFamily,
    Command,
    Extension,
    ExtensionPoint,
    Metric,
    NodeApi,
    Query,
    RaftGroup,
    Reader,
    Rejected,
    Txn,
)
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import Declared
from quorate.plugin.discovery import Plugin
from quorate.shards.refusals import OutcomeUnknownError
from quorate.testing.ports import free_ports

GROUP = "toy"
ROWS = "toy.rows"


class Section(BaseModel):
    """Settings of the plugin."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    most: int = Field(3, description="Most rows.")


class Rows:
    """A cache of every row."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}

    def reset(self) -> None:
        self.rows.clear()

    def put(self, family: str, key: bytes, row: bytes) -> None:
        self.rows[key] = row

    def delete(self, family: str, key: bytes) -> None:
        del self.rows[key]


def put(txn: Txn, command: StringValue) -> StringValue:
    """Set a row, as `key=value` says; `#` is no key."""
    key, _, value = command.value.partition("=")
    if key == "#":
        raise Rejected("NO_KEY", "a row needs a key")
    txn.put(ROWS, key.encode(), StringValue(value=value).SerializeToString())
    return StringValue(value=f"{key} is {value}")


def rows_with(reader: Reader, query: BytesValue) -> Iterator[StringValue]:
    """Give the values of keys with a prefix."""
    for row in reader.scan(ROWS, query.value, query.value + b"\xff", limit=10_000):
        yield StringValue.FromString(row.value)


def key_of(command: StringValue) -> bytes:
    return command.value.partition("=")[0].encode()


def toy(shards: int = 2, lifespan: Any = None) -> Declared:
    """What the plugin declares."""
    return Declared(
        plugin=Plugin(name="toy", distribution="toy", version="1", module=None),
        lifespan=lifespan,
        all=(
            RaftGroup(name=GROUP, shards=shards),
            ColumnFamily(name=ROWS, group=GROUP, row=StringValue, shard_key=bytes),
            Command(
                message=StringValue,
                group=GROUP,
                examples=(StringValue(),),
                shard_key=key_of,
                public=True,
                apply=put,
            ),
            Query(message=BytesValue, group=GROUP, run=rows_with, order=lambda row: row.value),
            Cache(name="toy.rows", group=GROUP, families=(ROWS,), factory=Rows),
            Metric(name="quorate_toy_puts_total", kind="counter", help="Puts.", labels=("how",)),
            Metric(name="quorate_toy_size_rows", kind="gauge", help="Rows."),
            ExtensionPoint(name="toy.colours", type=str),
            Extension(point="toy.colours", name="red", value="#f00"),
        ),
    )


def written(
    directory: Path,
    members: Mapping[str, int],
    node: str,
    *,
    http: int,
    token: str = "toy",
    election_ms: int = 150,
    more: str = "",
) -> Path:
    """Write the file of a node, and return where it is."""
    listed = "\n".join(f'{name} = "127.0.0.1:{port}"' for name, port in members.items())
    path = directory / f"{node}.toml"
    path.write_text(
        f"""
        [node]
        name = "{node}"
        port = {members[node]}
        http_port = {http}
        dir = "{directory / node}"
        [cluster]
        token = "{token}"
        [cluster.initial_members]
        {listed}
        [timing]
        heartbeat_ms = 30
        election_min_ms = {election_ms}
        election_max_ms = {2 * election_ms}
        {more}
        """
    )
    return path


class Nodes:
    """What tests make nodes of, and what they ask them."""

    cache = Rows
    section = Section
    #: The ports of all files in this process: their nodes may not listen yet.
    _taken: ClassVar[set[int]] = set()

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ended: list[Node] = []
        #: How many commands `say` has sent, repetitions included.
        self.sent = 0

    def files(self, count: int, **of: Any) -> list[Path]:
        """Write the files of a cluster, and return where they are."""
        names = [f"n{number}" for number in range(1, count + 1)]
        ports = self._ports(2 * count)
        members = dict(zip(names, ports[:count], strict=True))
        return [
            written(self._directory, members, name, http=http, **of)
            for name, http in zip(names, ports[count:], strict=True)
        ]

    def joining(self, name: str, *there: Path, **of: Any) -> Path:
        """Write the file of a node that joins those of other files, and return where it is."""
        members = {each.stem: load(each, {"toy": Section}, {}).node.port for each in there}
        members[name], http = self._ports(2)
        path = written(self._directory, members, name, http=http, **of)
        own = f'{name} = "127.0.0.1:{members[name]}"\n'
        text = path.read_text().replace(own, "").replace("initial_members", "join")
        path.write_text(text)
        return path

    def _ports(self, count: int) -> list[int]:
        """Return free ports that no other file has."""
        found = free_ports(*range(count))
        while not self._taken.isdisjoint(found):
            found = free_ports(*range(count))
        self._taken.update(found)
        return found

    def catalog(self, **of: Any) -> Catalog:
        """Return the catalog with the plugin."""
        return assemble([toy(**of)])

    def new(self, path: Path, serving: Catalog | None = None) -> Node:
        """Make a node of a file."""
        return Node(load(path, {"toy": Section}, {}), serving or self.catalog())

    @asynccontextmanager
    async def started(
        self, *paths: Path, serving: Catalog | None = None
    ) -> AsyncIterator[list[Node]]:
        """Start nodes side by side, and stop them whatever happens."""
        nodes = [self.new(path, serving) for path in paths]
        try:
            async with asyncio.timeout(20):
                await asyncio.gather(*(node.start() for node in nodes))
                await asyncio.gather(*(node.ready() for node in nodes))
            yield nodes
        finally:
            await asyncio.gather(*map(self.end, nodes))

    async def end(self, node: Node) -> None:
        """Stop a node, once."""
        if node not in self._ended:
            self._ended.append(node)
            await node.stop()

    @asynccontextmanager
    async def running(self, path: Path, serving: Catalog | None = None) -> AsyncIterator[Node]:
        """Start a node that need not become ready, and stop it whatever happens."""
        node = self.new(path, serving)
        try:
            async with asyncio.timeout(20):
                await node.start()
            yield node
        finally:
            await self.end(node)

    async def say(self, api: NodeApi, text: str) -> str:
        """Put a row and return the answer; again when a leader cannot tell what became of it."""
        async with asyncio.timeout(20):
            while True:
                self.sent += 1
                with suppress(OutcomeUnknownError):
                    return (await api.propose(StringValue(value=text), StringValue)).value

    async def values(self, api: NodeApi, prefix: str = "", **how: Any) -> list[str]:
        """Return the values of rows."""
        found = api.query(BytesValue(value=prefix.encode()), StringValue, **how)
        async with asyncio.timeout(20):
            return [row.value async for row in found]


@pytest.fixture
def nodes(tmp_path: Path) -> Nodes:
    return Nodes(tmp_path)
