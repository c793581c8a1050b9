"""A real node in the process of a test, as a cluster of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from quorate.config import Settings, load
from quorate.node.node import Node
from quorate.plugin.catalog import Catalog
from quorate.testing.ports import free_ports


def settings_of(directory: Path, catalog: Catalog, *, name: str = "n1", more: str = "") -> Settings:
    """Write the file of a node on free ports, with more lines at its end, and load it."""
    port, http_port = free_ports(0, 1)
    path = directory / f"{name}.toml"
    path.write_text(
        f"""
        [node]
        name = "{name}"
        port = {port}
        http_port = {http_port}
        dir = "{directory / name}"
        {more}
        """
    )
    return load(path, catalog.sections, {})


@asynccontextmanager
async def run_node(
    settings: Settings, catalog: Catalog, *, ready: bool = True
) -> AsyncIterator[Node]:
    """Run a node within the block, from when it serves, or only waits to be added."""
    node = Node(settings, catalog)
    try:
        async with asyncio.timeout(30):
            await node.start()
            if ready:
                await node.ready()
        yield node
    finally:
        await node.stop()
