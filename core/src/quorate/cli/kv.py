"""`quorate kv`: pairs of keys and values, one or a few at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

import click
from google.protobuf.message import Message

from quorate.cli.completing import from_cluster, keys
from quorate.cli.failures import ExitCode, failure
from quorate.cli.options import flag, option
from quorate.cli.tables import Keyed
from quorate.cli.terminal import Terminal, bytes_of
from quorate.v1 import kv_pb2 as pb

if TYPE_CHECKING:
    from quorate.client import AsyncClient
    from quorate.client.kv import KeyValue

M = TypeVar("M", bound=Message)

_SERVICE: Final = "/quorate.v1.KvService"
_PAGE: Final = 1_000
#: A hundred years: longer lives need no end.
_LONGEST_S: Final = 100 * 365 * 86_400

_hex = flag("--hex in_hex", "Read and print keys and values as hex digits.")
_stale = flag("--stale", "Read from any replica, possibly old data, even without a majority.")
_revision = option("--revision", "Refuse unless the pair has this revision.", click.IntRange(0))


def _value_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a value, or a file with it, and how long it is to live."""
    for give in (
        option("--ttl", "Seconds to live.", click.FloatRange(0.001, _LONGEST_S), metavar="S"),
        option("--file", "Read the value from a file; - is standard input.", click.File("rb")),
        click.argument("value", required=False),
    ):
        command = give(command)
    return command


@click.group("kv")
def command() -> None:
    """Read and write pairs of keys and values.

    Both are bytes; text is encoded as UTF-8. Keys that are equal up to their first slash share a
    shard.
    """


@command.command("put")
@click.argument("key", shell_complete=from_cluster(keys))
@_value_options
@_hex
@click.pass_obj
def put(terminal: Terminal, /, **given: Any) -> None:
    """Write VALUE under KEY, replacing any pair."""
    _put(terminal, **given)


@command.command("cas")
@click.argument("key", shell_complete=from_cluster(keys))
@click.argument("revision", type=click.IntRange(0))
@_value_options
@_hex
@click.pass_obj
def cas(terminal: Terminal, /, **given: Any) -> None:
    """Write VALUE under KEY if the pair has REVISION; with 0, if there is no pair.

    `quorate kv get --output json` shows the revision of a pair.
    """
    _put(terminal, **given)


def _put(
    terminal: Terminal,
    key: str,
    value: str | None,
    file: BinaryIO | None,
    ttl: float | None,
    in_hex: bool,
    revision: int | None = None,
) -> None:
    pair = pb.PutPair(key=bytes_of(key, "KEY", in_hex), expected_revision=revision)
    if (value is None) == (file is None):
        raise click.UsageError("Give either VALUE or --file.")
    pair.value = file.read() if file is not None else bytes_of(value or "", "VALUE", in_hex)
    pair.ttl_ms = round((ttl or 0) * 1_000)
    reply = _ask(terminal, "Put", pair, pb.PutPairReply)
    how = "created" if reply.created and revision is None else "written"
    terminal.report(
        f"{how} at revision {reply.revision}",
        {"key": _shown(pair.key, in_hex), "revision": reply.revision, "created": reply.created},
    )


@command.command("get")
@click.argument("key", shell_complete=from_cluster(keys))
@_stale
@_hex
@click.pass_obj
def get(terminal: Terminal, key: str, stale: bool, in_hex: bool) -> None:
    """Print the value of KEY alone, byte for byte; a line end follows on a terminal only."""
    wanted = bytes_of(key, "KEY", in_hex)
    pair = terminal.ask(lambda client: client.kv.get(wanted, stale=stale))
    if pair is None:
        raise failure(
            f"there is no pair with the key {key}",
            "put one with `quorate kv put`, or see `quorate kv list` for existing keys",
        )
    if terminal.json:
        terminal.print_json(_row(pair, in_hex))
    elif in_hex:
        click.echo(pair.value.hex())
    else:
        click.echo(pair.value, nl=sys.stdout.isatty())


@command.command("exists")
@click.argument("key", shell_complete=from_cluster(keys))
@_stale
@_hex
@click.pass_obj
def exists(terminal: Terminal, key: str, stale: bool, in_hex: bool) -> None:
    """Tell whether a pair with KEY exists; the exit code is 0 if it does, else 1."""
    wanted = bytes_of(key, "KEY", in_hex)
    found = terminal.ask(lambda client: client.kv.exists(wanted, stale=stale))
    terminal.report("yes" if found else "no", {"key": _shown(wanted, in_hex), "exists": found})
    if not found:
        click.get_current_context().exit(ExitCode.FAILED)


@command.command("delete")
@click.argument("key", shell_complete=from_cluster(keys))
@_revision
@_hex
@click.pass_obj
def delete(terminal: Terminal, key: str, revision: int | None, in_hex: bool) -> None:
    """Delete the pair with KEY; a missing pair is not an error."""
    pair = pb.DeletePair(key=bytes_of(key, "KEY", in_hex), expected_revision=revision)
    deleted = _ask(terminal, "Delete", pair, pb.DeletePairReply).deleted
    terminal.report(
        "deleted" if deleted else "no such pair",
        {"key": _shown(pair.key, in_hex), "deleted": deleted},
    )


@command.command("touch")
@click.argument("key", shell_complete=from_cluster(keys))
@_revision
@_hex
@click.pass_obj
def touch(terminal: Terminal, key: str, revision: int | None, in_hex: bool) -> None:
    """Restart the time to live of the pair with KEY."""
    pair = pb.TouchPair(key=bytes_of(key, "KEY", in_hex), expected_revision=revision)
    expires_at_ms = _ask(terminal, "Touch", pair, pb.TouchPairReply).expires_at_ms
    terminal.report(
        f"expires at {expires_at_ms} ms of the shard's time",
        {"key": _shown(pair.key, in_hex), "expires_at_ms": expires_at_ms},
    )


@command.command("list")
@click.argument("prefix", default="", shell_complete=from_cluster(keys))
@option("--after", "Start after this key.")
@option("--limit", "Maximum number of pairs.", click.IntRange(1), _PAGE)
@flag("--keys-only", "Print keys only.")
@_stale
@_hex
@click.pass_obj
def list_pairs(
    terminal: Terminal,
    prefix: str,
    after: str | None,
    limit: int,
    keys_only: bool,
    stale: bool,
    in_hex: bool,
) -> None:
    """List the pairs with keys that begin with PREFIX, by key."""
    wanted = bytes_of(prefix, "PREFIX", in_hex)
    # The smallest key that is larger.
    start = b"" if after is None else bytes_of(after, "--after", in_hex) + b"\0"

    async def listed(client: AsyncClient) -> tuple[list[KeyValue], bool]:
        """Read page by page; also return whether there is more than was asked for."""
        pages = client.kv.scan(
            wanted, start=start, keys_only=keys_only, page_size=min(_PAGE, limit), stale=stale
        )
        found: list[KeyValue] = []
        async for page in pages:
            found += page.pairs
            if len(found) >= limit:
                return found[:limit], len(found) > limit or bool(page.next_page_token)
        return found, False

    pairs, more = terminal.ask(listed)
    rows = (_row(pair, in_hex, with_value=not keys_only) for pair in pairs)
    terminal.print(Keyed(rows, key=("key",), noun="pairs"))
    if more:
        last = pairs[-1].key
        last_key = last.hex() if in_hex else last.decode(errors="replace")
        terminal.warn(f"there are more than {limit}; continue with --after {last_key}")


@command.command("watch")
@click.argument("prefix", default="", shell_complete=from_cluster(keys))
@flag("--changes-only", "Skip the current pairs.")
@_hex
@click.pass_context
def watch_pairs(ctx: click.Context, prefix: str, changes_only: bool, in_hex: bool) -> None:
    """Show the pairs with keys that begin with PREFIX and every change, until Ctrl-C.

    `quorate watch kv` resumes after an interruption as well.
    """
    from quorate.cli import watch

    ctx.invoke(watch.command, family="kv", prefix=prefix, in_hex=in_hex, changes_only=changes_only)


def _ask(terminal: Terminal, method: str, request: Message, response: type[M]) -> M:
    return terminal.ask(lambda client: client.call(f"{_SERVICE}/{method}", request, response))


def _row(pair: KeyValue, in_hex: bool, *, with_value: bool = True) -> Mapping[str, object]:
    value = {"value": _shown(pair.value, in_hex)} if with_value else {}
    return {
        "key": _shown(pair.key, in_hex),
        **value,
        "revision": pair.revision,
        "created_revision": pair.created_revision,
        "ttl_ms": pair.ttl_ms,
    }


def _shown(value: bytes, in_hex: bool) -> str | bytes:
    return value.hex() if in_hex else value
