"""The commands `quorate lock`, `quorate election` and `quorate lease`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import click
from quorate.plugin import Console, keys
from quorate.plugin.console import columns_of, first_rows, limit_option, time_text
from quorate.v1 import admin_pb2

from quorate_coordination.client import Held, Leadership, LockOptions, SyncCoordination
from quorate_coordination.families import LOCK_FENCE
from quorate_coordination.holding import LONGEST_TTL_MS, SHORTEST_TTL_MS
from quorate_coordination.locks import MOST_PERMITS

#: Environment variables of a started command: the name and the token of its lock.
_NAME: Final = "QUORATE_LOCK"
_TOKEN: Final = "QUORATE_TOKEN"
_RESET: Final = f"/{admin_pb2.DESCRIPTOR.services_by_name['AdminService'].full_name}/ResetFences"
#: How long a command that was killed may take to be gone.
_END_S: Final = 5.0

R = TypeVar("R", bound=Callable[..., None])

_ttl = click.option(
    "--ttl",
    "ttl_s",
    type=click.FloatRange(SHORTEST_TTL_MS / 1_000, LONGEST_TTL_MS / 1_000),
    default=10.0,
    show_default=True,
    help="Seconds after which the lock is free if the program stops renewing it.",
)
_wait = click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0),
    help="Seconds to wait for others; 0: not at all. Default: for ever.",
)
_owner = click.option("--owner", default="", help="Name of the holder, for people to read.")


def _runs(command: R) -> R:
    """Add the arguments for the program to run, the owner and the times."""
    for each in (_owner, _wait, _ttl):
        command = each(command)
    command = click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)(command)
    return click.argument("name")(command)


@click.group()
def lock() -> None:
    """Run commands under locks, and list locks and their holders."""


@lock.command("run")
@_runs
@click.option("--shared", is_flag=True, help="Share the lock with any number of holders.")
@click.option(
    "--permits",
    type=click.IntRange(1, MOST_PERMITS),
    default=1,
    help="Maximum number of holders.",
)
@click.pass_context
def run_locked(ctx: click.Context, /, name: str, command: tuple[str, ...], **options: Any) -> None:
    """Run COMMAND while this holds the lock NAME, and end it when the lock is lost.

    It has the name in QUORATE_LOCK and the token in QUORATE_TOKEN; its exit code is that of this.
    """
    _run(ctx, name, command, _given(options))


@lock.command("list")
@click.argument("prefix", default="")
@limit_option
@click.pass_obj
def list_locks(console: Console, prefix: str, limit: int) -> None:
    """List locks with holders or waiters, by the PREFIX of their names."""
    locks = SyncCoordination(console.client()).locks.list(prefix=prefix)
    console.print([_columns(each) for each in first_rows(locks, limit)])


@lock.command("get")
@click.argument("name")
@limit_option
@click.pass_obj
def show_lock(console: Console, name: str, limit: int) -> None:
    """Show the holders of the lock NAME and its waiters, in order."""
    claims = SyncCoordination(console.client()).claims.list(lock=name)
    console.print([_columns(each) for each in first_rows(claims, limit)])


@lock.command("reset")
@click.argument("name")
@click.option(
    "--fence", is_flag=True, help="NAME is that of a fence whose tokens programs choose themselves."
)
@click.pass_obj
def reset_lock(console: Console, name: str, fence: bool) -> None:
    """Forget tokens of the lock NAME that it never gave out, and that shut out its holders.

    Whoever holds or waits for the lock goes on doing so. A fence of programs' own begins anew.
    """
    client, above, prefix = console.client(), 0, name.encode()
    if not fence:
        prefix, _ = keys.prefix(LOCK_FENCE, name)
        found = SyncCoordination(client).locks.get(name)
        above = 0 if found is None else found.token + 1
    reset = admin_pb2.ResetFencesRequest(prefix=prefix, above=above)
    answer = client.call(_RESET, reset, admin_pb2.ResetFencesResponse)
    console.print([{"name": name, "forgotten": answer.forgotten}])


@click.group()
def election() -> None:
    """Campaign for leadership, and show leaders."""


@election.command("run")
@_runs
@click.option("--value", default="", help="Value of the leader, for observers.")
@click.pass_context
def run_leading(
    ctx: click.Context, /, name: str, command: tuple[str, ...], value: str, **options: Any
) -> None:
    """Run COMMAND while this leads in NAME, and end it when another may lead."""
    _run(ctx, name, command, _given({**options, "value": value.encode()}))


@election.command("get")
@click.argument("name")
@click.pass_obj
def show_leader(console: Console, name: str) -> None:
    """Show the leader of NAME; print nothing without one."""
    leader = SyncCoordination(console.client()).election(name).leader()
    console.print([] if leader is None else [_leading(leader)])


@election.command("watch")
@click.argument("name")
@click.pass_obj
def watch_leader(console: Console, name: str) -> None:
    """Show the leader of NAME, and each later change, until interrupted."""
    for leader in SyncCoordination(console.client()).election(name).observe():
        console.print([{"token": 0} if leader is None else _leading(leader)])


@click.group()
def lease() -> None:
    """See leases, and end them."""


@lease.command("list")
@click.argument("prefix", default="")
@limit_option
@click.pass_obj
def list_leases(console: Console, prefix: str, limit: int) -> None:
    """List leases by the PREFIX of their names."""
    leases = SyncCoordination(console.client()).leases.list(prefix=prefix)
    console.print([_columns(each) for each in first_rows(leases, limit)])


@lease.command("delete")
@click.argument("names", nargs=-1, required=True)
@click.pass_obj
def end_leases(console: Console, names: tuple[str, ...]) -> None:
    """End the leases NAMES: their locks are free, and their rows are deleted."""
    leases = SyncCoordination(console.client()).leases
    for name in names:
        leases.delete(name)


def _run(ctx: click.Context, name: str, command: Sequence[str], options: LockOptions) -> None:
    coordination = SyncCoordination(ctx.obj.client())
    with _ended_by_signals(), coordination.lock(name, **options) as held:
        grace_s = options["ttl_s"] / 8
        ended = threading.Event()

        async def work() -> int:
            try:
                working = _carry_out(held.asynchronous, command, grace_s)
                return await held.asynchronous.run(working)
            finally:
                ended.set()

        try:
            code = coordination.thread.run(work())
        except BaseException:
            # The lock is released, and the loop ended, only after the command has ended.
            ended.wait(grace_s + _END_S)
            raise
    ctx.exit(code)


async def _carry_out(held: Held, command: Sequence[str], grace_s: float) -> int:
    """Run a command to its end; when this is cancelled end it, after a while by force."""
    environment = {**os.environ, _NAME: held.name, _TOKEN: str(held.token)}
    starting = asyncio.create_task(asyncio.create_subprocess_exec(*command, env=environment))
    try:
        # Cancelled while it awaits the start itself, asyncio would kill the command.
        await asyncio.wait([starting])
        return await starting.result().wait()
    except OSError as error:
        raise click.ClickException(f"{command[0]}: {error.strerror}") from None
    finally:
        await asyncio.wait([starting])
        if starting.exception() is None:
            await _end(starting.result(), grace_s)


async def _end(process: asyncio.subprocess.Process, grace_s: float) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), grace_s)
    except TimeoutError:
        process.kill()
        await process.wait()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End by SIGTERM as by an interrupt from the keyboard: the command ends, then the lock."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _given(options: dict[str, Any]) -> LockOptions:
    given: Any = {name: value for name, value in options.items() if value is not None}
    checked: LockOptions = given
    return checked


def _columns(row: Any) -> dict[str, object]:
    return {
        name.removesuffix("_ms"): time_text(int(str(value))) if name.endswith("at_ms") else value
        for name, value in columns_of(row)
        if name != "held_since_ms"
    }


def _leading(leader: Leadership) -> dict[str, object]:
    return {"token": leader.token, "owner": leader.owner, "value": leader.value}
