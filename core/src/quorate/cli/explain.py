"""`quorate explain`: the state of a key, and the time that a request took."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from quorate.cli import recorded
from quorate.cli.audit import WRITER, family_of, key_of
from quorate.cli.failures import failure
from quorate.cli.options import flag, option
from quorate.cli.statuses import place_of
from quorate.cli.terminal import ADMIN, Terminal
from quorate.client.errors import QuorateError, RejectedError
from quorate.observe.recorder import PROPOSED, Record
from quorate.plugin import keys
from quorate.plugin.console import time_text
from quorate.v1 import admin_pb2 as pb, audit_pb2

if TYPE_CHECKING:
    from quorate.client import AsyncClient

#: How long changes are looked for.
_LOOK_S: Final = 10.0
#: The low bits of a revision: the position of a command in its entry.
_POSITION_BITS: Final = 20


@click.group("explain")
def command() -> None:
    """Explain the state of a key or the fate of a request."""


@command.command("key")
@click.argument("family")
@click.argument("key")
@flag("--hex in_hex", "Read the key as hex digits.")
@option("--changes most", "Number of newest changes to find.", click.IntRange(1), 20)
@click.pass_obj
def explain_key(terminal: Terminal, family: str, key: str, in_hex: bool, most: int) -> None:
    """Show the writer, command, time and history of the row of FAMILY with KEY.

    The key is given as `quorate watch` shows it: text, or a JSON array of its parts. It shows
    the history that watches keep, the writer where audit.writers is on, and the command while a
    flight recorder holds it.
    """
    name, wanted = family_of(family), key_of(key, in_hex)
    found = terminal.ask(lambda client: facts_of(client, name, wanted, most))
    if terminal.json:
        terminal.print_json(found)
        return
    changes, deadlines = found.pop("changes"), found.pop("deadlines")
    terminal.print({"what": name, "": value} for name, value in found.items() if value != "")
    terminal.print(deadlines)
    terminal.print(changes)


@command.command("request")
@click.argument("request", metavar="ID")
@click.pass_obj
def explain_request(terminal: Terminal, request: str) -> None:
    """Show where the time of the call ID went, as the flight recorders of all nodes have it.

    An error and a log line name the id. Only calls that failed or took longer than
    timing.slow_write_ms are recorded, with the stages of their slow writes.
    """
    nodes = terminal.ask(
        lambda client: recorded.of_nodes(client, pb.RecordedRequest(request=request))
    )
    records = [{"node": node, **each} for node, found in nodes.items() for each in found]
    if not records:
        asked = ", ".join(nodes) or "none"
        raise failure(
            f"no node has a record of request {request}; asked: {asked}",
            "only calls that failed or took longer than timing.slow_write_ms are recorded, and only"
            " until the file of recorder.bytes is full; `quorate debug recorder DIR --request ID`"
            " reads that of a node that is down",
        )
    records.sort(key=lambda each: str(each["time"]))
    if terminal.json:
        terminal.print(records)
    else:
        terminal.print({"node": each["node"], **recorded.row(each)} for each in records)


async def facts_of(client: AsyncClient, family: str, key: bytes, most: int) -> dict[str, Any]:
    """Return the recorded writer, command, deadlines and changes of a row."""
    first, changes, looked = await _history(client, family, key, most)
    if not first.revision and not changes and looked.complete:
        raise failure(f"{family} has no such row, and no change of it is kept")
    newest = first.revision or (changes[0].revision if changes else 0)
    place = place_of(await client.topology(), first.shard)
    return {
        "key": keys.readable(key),
        "revision": first.revision,
        **await _writer(client, family, key, first.revision),
        "command": await _command(client, first.shard, newest),
        "shard": first.shard,
        "slot": first.slot if first.HasField("slot") else "",
        "leader": place.leader,
        "replicas": [*place.nodes],
        "history": "complete as far as it is kept"
        if looked.complete
        else f"complete after revision {looked.complete_after}",
        "deadlines": [
            {"timer": each.timer, "key": keys.readable(each.key), "due": time_text(each.at_ms)}
            for each in first.deadlines
        ],
        "changes": [
            {
                "revision": each.revision,
                "operation": each.operation,
                "at": time_text(each.at_ms) if each.at_ms else "",
            }
            for each in changes
        ],
    }


async def _history(
    client: AsyncClient, family: str, key: bytes, most: int
) -> tuple[pb.ExplainKeyResponse, list[pb.KeyChange], pb.ExplainKeyResponse]:
    """Return the first answer, the newest changes, and the last answer."""
    asked = pb.ExplainKeyRequest(family=family, key=key)
    ends = time.monotonic() + _LOOK_S
    changes: list[pb.KeyChange] = []
    first = None
    while True:
        found = await client.call(f"{ADMIN}/ExplainKey", asked, pb.ExplainKeyResponse, read=True)
        first = found if first is None else first
        changes += found.changes
        if found.complete or len(changes) >= most or time.monotonic() > ends:
            return first, changes[:most], found
        asked.before_revision = found.complete_after


async def _writer(
    client: AsyncClient, family: str, key: bytes, revision: int
) -> Mapping[str, object]:
    """Return the writer of a row, if it was recorded and the caller may see it."""
    asked = audit_pb2.FindWriter(family=family, key=key)
    try:
        found = await client.call(WRITER, asked, audit_pb2.RowWriter, read=True)
    except RejectedError as error:
        refused = "known to administrators" if error.code == "PERMISSION_DENIED" else ""
        return {"writer": refused}
    if not found.known or found.revision != revision:
        return {"writer": "not kept: audit.writers was off"}
    named = found.identity or "the cluster, or an unnamed caller"
    return {"writer": named, "written": time_text(found.written_at_ms)}


async def _command(client: AsyncClient, shard: str, revision: int) -> str:
    """Return which command made a revision, if a flight recorder has its entry."""
    index, position = divmod(revision, 1 << _POSITION_BITS)
    if not index:
        return ""
    asked = pb.RecordedRequest(kinds=[PROPOSED], shard=shard, index=index)
    nodes: Mapping[str, list[Record]] = {}
    with suppress(QuorateError):
        nodes = await recorded.of_nodes(client, asked)
    # An entry that another leader's entry replaced has a lower term.
    records = [each for found in nodes.values() for each in found]
    newest = max(records, key=lambda each: int(each["term"]), default=None)
    if newest is None:
        return "no longer recorded"
    for run in str(newest.get("commands", "")).split(","):
        name, _, count = run.partition("*")
        position -= int(count or 1)
        if position < 0:
            return name
    return "no longer recorded"
