"""The code of docs/how-to/admit-commands.md."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from quorate.plugin import Caller, Invalid, NodeApi
from quorate.testing import MemoryNode
from quorate.testing.installed import catalog_of
from quorate_greeting.config import GreetingConfig
from quorate_greeting.v1.commands_pb2 import SayHelloCommand as Note
from quorate_greeting.v1.rows_pb2 import Greeting


async def admit_note(node: NodeApi, caller: Caller, note: Note) -> Note | None:
    """Give a client's note the time that it lasts, and no more than the operator allows."""
    longest_ms = node.config(GreetingConfig).ttl_s * 1_000
    if note.ttl_ms > longest_ms and caller.via == "client":
        raise Invalid("ttl_ms", f"must be at most {longest_ms}")
    if note.ttl_ms > 1:
        return None
    admitted = Note()
    admitted.CopyFrom(note)
    admitted.ttl_ms = longest_ms
    return admitted


def made() -> MemoryNode:
    """Make a node whose notes are admitted."""
    catalog = catalog_of(["greeting"])
    name = Note.DESCRIPTOR.full_name
    command = replace(catalog.commands[name], admit=admit_note)
    return MemoryNode(catalog=replace(catalog, commands={**catalog.commands, name: command}))


def test_a_note_has_a_default_and_a_limit() -> None:
    node = made()

    async def send(ttl_ms: int, caller: Caller) -> Greeting:
        note = Note(town="oslo", name="ada", salutation="hello", ttl_ms=ttl_ms)
        return await node.execute(note, Greeting, caller=caller)

    stored = asyncio.run(send(1, Caller()))
    assert stored.expires_at_ms == node.config(GreetingConfig).ttl_s * 1_000
    with pytest.raises(Invalid, match="ttl_ms"):
        asyncio.run(send(1 << 40, Caller(name="broker-1")))
