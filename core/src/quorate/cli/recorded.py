"""Reads flight recorders: of nodes that run, and of files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from quorate.cli.failures import failure
from quorate.cli.terminal import ADMIN
from quorate.client.errors import QuorateError
from quorate.observe import recorder
from quorate.observe.recorder import Record
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: Records of a node that go into a bundle.
MOST: Final = 20_000


def of_file(
    path: Path,
    *,
    kinds: Collection[str] = (),
    shard: str = "",
    request: str = "",
    last: int = 0,
) -> list[Record]:
    """Return the records in a file, or in a node's directory."""
    file = path / recorder.FILE if path.is_dir() else path
    try:
        return recorder.read(file, kinds=kinds, shard=shard, request=request, last=last)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise failure(
            f"{file} cannot be read: {why}", "name the file `recorder` of a node.dir"
        ) from None


async def of_node(client: AsyncClient, node: str, wanted: pb.RecordedRequest) -> list[Record]:
    """Return the records of a node that runs."""
    found: list[Record] = []
    async for part in client.at(node).stream(f"{ADMIN}/Recorded", wanted, pb.RecordedPart):
        found += map(json.loads, part.records)
    return found


async def of_nodes(
    client: AsyncClient, wanted: pb.RecordedRequest | None = None
) -> Mapping[str, list[Record]]:
    """Return the records of every node that answers; without a request the newest."""
    asked = pb.RecordedRequest(last=MOST) if wanted is None else wanted

    async def ask(node: str) -> list[Record] | None:
        with suppress(QuorateError):
            return await of_node(client, node, asked)
        return None

    nodes = [each.node for each in (await client.topology()).nodes]
    found = await asyncio.gather(*map(ask, nodes))
    return {node: each for node, each in zip(nodes, found, strict=True) if each is not None}


def lines(records: Iterable[Record]) -> str:
    """Return records as JSON, a line for each."""
    return "".join(f"{json.dumps(each)}\n" for each in records)


def row(record: Record) -> Mapping[str, object]:
    """Return a record as a row of a table."""
    named = ("time", "kind", "shard", "sequence", "node")
    said = {name: value for name, value in record.items() if name not in named}
    what = ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in said.items()
    )
    return {**{name: record.get(name) for name in named[:3]}, "what": what}
