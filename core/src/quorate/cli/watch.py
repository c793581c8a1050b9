"""`quorate watch`: the rows of a family, and then every change, a line each."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message

from quorate.cli.failures import usage
from quorate.cli.options import flag, option
from quorate.cli.tables import line_of
from quorate.cli.terminal import Terminal, bytes_of
from quorate.client import ChangeKind
from quorate.client.watching import ALIASES
from quorate.plugin import keys

if TYPE_CHECKING:
    from quorate.cli.installed import InstalledPlugins
    from quorate.client import AsyncClient, WatchedChange

Kinds = Mapping[str, type[Message]]

#: Families with keys exactly as users put them.
_UNPACKED: Final = {each.family for each in ALIASES.values()}


@click.command("watch")
@click.argument("family")
@option("--prefix", "Only keys that begin with this text.", default="")
@flag("--hex in_hex", "Read the prefix as hex digits.")
@option("--token", "Resume after an event that was printed as JSON.", default="")
@flag("--changes-only", "Skip the current rows.")
@option(
    "--token-file",
    "Resume after the token in this file, if it exists, and store the newest token in it.",
    click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
)
@click.pass_obj
def command(
    terminal: Terminal,
    family: str,
    prefix: str,
    in_hex: bool,
    token: str,
    changes_only: bool,
    token_file: Path | None,
) -> None:
    """Show the rows of FAMILY and every change to them, one per line, until Ctrl-C.

    kv stands for the pairs. Rows are shown as the installed plugins declare them. In JSON each
    line is an object, with a token from which a later watch resumes. With --token-file, a watch
    resumes after any end: it skips no change, and may repeat the last ones.
    """
    family = next((alias for alias, each in ALIASES.items() if each.family == family), family)
    # The client unwraps the rows of an alias into the values that users put.
    kinds = {} if family in ALIASES else _kinds(terminal.plugins)
    start = bytes_of(prefix, "--prefix", in_hex)
    if token and token_file is not None:
        raise usage("--token and --token-file are both given", "omit one of them")
    resumed = _token("--token", token) if token_file is None else _kept(token_file)

    async def watch(client: AsyncClient) -> None:
        kept = resumed
        async for change in client.watch(
            family, prefix=start, token=resumed, changes_only=changes_only, marks=True
        ):
            if change.kind not in (ChangeKind.LISTED, ChangeKind.BOOKMARK):
                terminal.report(*_shown(change, kinds))
            # A change before the end of its response has the token of the change before it.
            if token_file is not None and change.token not in (b"", kept):
                kept = change.token
                _keep(token_file, kept)

    terminal.follow(watch)


def _kinds(plugins: InstalledPlugins) -> Kinds:
    """Return the types of rows by family, as far as sound plugins declare them."""
    return {
        family.name: family.row
        for plugin in plugins.sound
        for family in plugin.families
        if family.row is not None
    }


def _shown(change: WatchedChange, kinds: Kinds) -> tuple[str, Mapping[str, object]]:
    kind = str(change.kind)
    if change.kind is ChangeKind.RESYNC:
        parts: dict[str, object] = {"kind": kind, "reason": change.reason}
        return f"{kind}: {change.reason}; all rows follow", parts
    key = _key(change)
    parts = {
        "kind": kind,
        "family": change.family,
        "key": key,
        "revision": change.revision,
        "shard": change.shard,
        "token": base64.urlsafe_b64encode(change.token).decode(),
    }
    line = f"{kind} {json.dumps(key) if isinstance(key, list) else line_of(change.key)}"
    row = kinds.get(change.family)
    if change.kind is not ChangeKind.DELETED:
        parts["value"] = _value(row, change.value)
        line = f"{line} = {_line(parts['value'])}"
    if change.previous:
        parts["previous"] = _value(row, change.previous)
        line = f"{line} (was {_line(parts['previous'])})"
    return line, parts


def _key(change: WatchedChange) -> bytes | list[str | int]:
    """Return the parts of a packed key; of any other key its bytes, as lists of rows show them."""
    found = None if change.family in _UNPACKED else keys.readable(change.key)
    return found if isinstance(found, list) else change.key


def _value(kind: type[Message] | None, value: bytes) -> object:
    """Return a row by the names of its fields, or as the bytes that no plugin describes."""
    if kind is not None:
        with suppress(DecodeError):
            return MessageToDict(kind.FromString(value), preserving_proto_field_name=True)
    return value


def _line(value: object) -> str:
    if isinstance(value, str):
        value = value.encode()
    return line_of(value) if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False)


def _token(where: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise usage(
            f"{where} {text!r} is not a token",
            "copy the token of a line that `quorate watch --output json` wrote",
        ) from None


def _kept(file: Path) -> bytes:
    try:
        text = file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise usage(
            f"--token-file {file} cannot be read: {error.strerror}",
            "name a file that this user may read and write",
        ) from None
    return _token(f"--token-file {file}:", text)


def _keep(file: Path, token: bytes) -> None:
    """Replace the token in a file, which holds the old one or the new one whenever this ends."""
    written = file.with_name(f"{file.name}.new")
    try:
        written.write_bytes(base64.urlsafe_b64encode(token) + b"\n")
        written.replace(file)
    except OSError as error:
        raise usage(
            f"--token-file {file} cannot be written: {error.strerror}",
            "name a file in a directory where this user may write",
        ) from None
