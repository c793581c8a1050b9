"""`quorate auth`: the switch, tokens and the caller's identity; other commands are derived."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from quorate.plugin.console import columns_of
from quorate.v1 import auth_pb2 as pb

M = TypeVar("M", bound=Message)

_UNITS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class _Lifetime(click.ParamType[int]):
    """Milliseconds, from text such as `90d`."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+)([smhd])", value)
        if found is None:
            self.fail(f"{value!r} is not a duration such as 12h or 90d", param, ctx)
        return int(found[1]) * _UNITS[found[2]]


_ttl = click.option(
    "--ttl", type=_Lifetime(), default=0, metavar="TIME", help="Lifetime of the token, such as 90d."
)
_file = click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the token to this new file, readable by its owner alone, instead of the output.",
)


@click.group("auth")
def command() -> None:
    """Manage users, tokens and roles."""


@command.command()
@click.argument("administrator", default="admin")
@_ttl
@_file
@click.pass_obj
def enable(console: Any, administrator: str, ttl: int, file: Path | None) -> None:
    """Require callers to authenticate.

    Creates the first administrator, and prints its token alone, which is stored nowhere else.
    """
    request = pb.EnableAuth(administrator=administrator, ttl_ms=ttl)
    with _handing_over(console, file) as hand_over:
        hand_over(_call(console.client(), "Auth/Enable", request, pb.NewToken))


@command.command()
@click.pass_obj
def disable(console: Any) -> None:
    """Stop authenticating callers; users, tokens and roles stay stored."""
    _call(console.client(), "Auth/Disable", pb.DisableAuth(), Empty)


@command.command()
@click.pass_obj
def status(console: Any) -> None:
    """Show whether callers must authenticate, your identity and your rights."""
    found = _call(console.client(), "Auth/Status", pb.AuthStatusRequest(), pb.AuthStatus)
    grants = [dict(columns_of(each)) for each in found.grants] or [{}]
    whole = {"enabled": found.enabled, "caller": found.caller}
    console.print([{**whole, **grant} for grant in grants])


@command.group("token")
def tokens() -> None:
    """See and change tokens."""


@tokens.command()
@click.argument("user")
@click.option("--description", default="", help="Purpose of the token.")
@_ttl
@_file
@click.pass_obj
def create(console: Any, user: str, description: str, ttl: int, file: Path | None) -> None:
    """Create a token, and print it alone: it is stored nowhere else."""
    request = pb.IssueToken(user=user, description=description, ttl_ms=ttl)
    with _handing_over(console, file) as hand_over:
        hand_over(_call(console.client(), "Token/Issue", request, pb.NewToken))


@contextmanager
def _handing_over(console: Any, file: Path | None) -> Iterator[Callable[[pb.NewToken], None]]:
    """Yield a function that hands a new token to the user, alone and on one line.

    A file is created before the token, which would be lost if the file could not be created.
    """
    if file is None:
        yield lambda made: _show(console, made)
        return
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.UsageError(
            f"cannot create {file}: {error.strerror}; name a file that does not exist yet"
        ) from None

    def write(made: pb.NewToken) -> None:
        os.write(opened, made.text.encode() + b"\n")
        os.fsync(opened)
        click.echo(f"{_named(made)} is in {file}", err=True)

    try:
        yield write
    except BaseException:
        file.unlink()
        raise
    finally:
        os.close(opened)


def _show(console: Any, made: pb.NewToken) -> None:
    if console.json:
        console.print([{"user": made.token.user, "id": made.token.id, "token": made.text}])
        return
    # Standard output has the token alone: it can be piped into a file or a variable.
    click.echo(f"{_named(made)}, which is stored nowhere else:", err=True)
    click.echo(made.text)


def _named(made: pb.NewToken) -> str:
    return f"token {made.token.id} of {made.token.user}"


def _call(client: Any, method: str, request: Message, reply: type[M]) -> M:
    service, _, name = method.partition("/")
    answer: M = client.call(f"/quorate.v1.{service}Service/{name}", request, reply)
    return answer
