"""The command group `quorate etcd`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Final, TypeVar

import click
from quorate.client import QuorateError, Tls
from quorate.plugin import Console
from rich.console import Console as Screen
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from quorate_etcd.cli.copying import Copied, Copy
from quorate_etcd.cli.peer import Peer, PeerError
from quorate_etcd.store.writing import LEAP
from quorate_etcd.v1 import commands_pb2 as pb, stores_pb2 as stores

C = TypeVar("C", bound=Callable[..., None])

#: Prepares the target for a copy.
Begin = Callable[[Peer, Peer], Awaitable[None]]

_SERVICE: Final = "/quorate_etcd.v1.StoreService"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to reach both servers, and how long to copy."""

    address: str
    at: str
    store: str
    until_equal: bool
    deletes: bool
    user: str
    at_user: str
    ca: str
    cert: str
    key: str

    @property
    def tls(self) -> Tls | None:
        """What both connections are encrypted with."""
        if not self.ca:
            if self.cert or self.key:
                raise click.UsageError("--cert and --key need --ca, the authority of both servers")
            return None
        return Tls(ca=self.ca, cert=self.cert or None, key=self.key or None)


def _options(command: C) -> C:
    for option in reversed(
        (
            click.argument("address", metavar="HOST:PORT"),
            click.option(
                "--at",
                default="127.0.0.1:2379",
                show_default=True,
                help="Address at which a Quorate node serves etcd's clients.",
            ),
            click.option("--store", default="", help="Name of the store that is served there."),
            click.option(
                "--until-equal",
                is_flag=True,
                help="End as soon as both are equal, which is checked; else with Ctrl-C.",
            ),
            click.option(
                "--delete", "deletes", is_flag=True, help="Delete keys that the source lacks."
            ),
            click.option(
                "--user",
                default="",
                envvar="QUORATE_ETCD_USER",
                help="name:password to authenticate with at the other server.",
            ),
            click.option(
                "--at-user",
                default="",
                envvar="QUORATE_ETCD_AT_USER",
                help="name:password to authenticate with at the Quorate node.",
            ),
            click.option("--ca", default="", help="PEM file of the authority of both; encrypts."),
            click.option("--cert", default="", help="PEM file of a certificate for both."),
            click.option("--key", default="", help="PEM file of its key."),
        )
    ):
        command = option(command)
    return command


@click.group("etcd")
def etcd() -> None:
    """Show stores of etcd's keys, and move between etcd and Quorate."""


@etcd.group("store")
def store() -> None:
    """List stores."""


@store.command("list")
@click.pass_obj
def list_stores(console: Console) -> None:
    """List the stores: revisions, sizes, compaction, leases, watches and leaders, by node."""
    q = console.client()
    rows: list[dict[str, object]] = []
    for node in q.topology().nodes:
        try:
            found = q.at(node.node).call(
                f"{_SERVICE}/ListStores", stores.ListStoresRequest(), stores.ListStoresResponse
            )
        except QuorateError as error:
            click.echo(f"warning: {node.node} does not answer: {error}", err=True)
        else:
            rows += map(_row, found.stores)
    console.print(rows)


@etcd.command("import")
@_options
@click.pass_obj
def import_pairs(console: Console, /, **options: object) -> None:
    """Copy a live etcd to a store: pairs, leases, and all changes until the switch.

    The revisions of the store first leap beyond those of etcd. Users are named and not copied.
    """
    given = Options(**options)  # type: ignore[arg-type]

    async def begin(source: Peer, target: Peer) -> None:
        revision = await source.revision()
        if await target.revision() < revision + LEAP // 2:
            command = pb.Leap(store=given.store, revision=revision + LEAP)
            leap = console.client().call
            await asyncio.to_thread(leap, f"{_SERVICE}/LeapStore", command, pb.Stood)
            if await target.revision() <= revision:
                raise click.ClickException(
                    f"{given.at} serves no store {given.store!r}: see `quorate etcd store list`"
                )

    _run(console, given, given.address, given.at, begin)


@etcd.command("export")
@_options
@click.pass_obj
def export_pairs(console: Console, /, **options: object) -> None:
    """Copy a store to a live etcd: `import` in the other direction.

    Revisions of etcd do not leap: clients have to read everything anew.
    """
    given = Options(**options)  # type: ignore[arg-type]

    async def begin(source: Peer, target: Peer) -> None:
        """Do nothing: etcd has no leap."""

    _run(console, given, given.at, given.address, begin)


def _run(console: Console, given: Options, source: str, target: str, begin: Begin) -> None:
    try:
        done, differing = asyncio.run(_copy(given, source, target, begin))
    except (PeerError, OSError, ExceptionGroup) as error:
        failure: BaseException = error
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        if not isinstance(failure, PeerError | OSError):
            raise
        raise click.ClickException(
            f"cannot copy {source} to {target}: {failure}; run it again to go on"
        ) from None
    console.print([{each.name: getattr(done, each.name) for each in fields(done)}])
    if done.extra:
        raise click.ClickException(
            f"{target} has {done.extra:,} keys that {source} lacks: delete them with --delete"
        )
    if differing:
        raise click.ClickException(
            f"{differing:,} pairs differ: does anybody else write {target}? Run it again"
        )


async def _copy(given: Options, source: str, target: str, begin: Begin) -> tuple[Copied, int]:
    users = {given.address: given.user, given.at: given.at_user}
    async with (
        Peer(source, tls=given.tls, user=users[source]) as reads,
        Peer(target, tls=given.tls, user=users[target]) as writes,
    ):
        if names := await reads.users():
            click.echo(f"warning: users are not copied: {', '.join(names)}", err=True)
        await begin(reads, writes)
        with _progress() as told:
            copy = Copy(reads, writes, deletes=given.deletes, told=told)
            try:
                await copy.run(until_equal=given.until_equal)
            except asyncio.CancelledError:
                # Ctrl-C: the switch.
                return copy.done, 0
        return copy.done, await copy.differing()


@contextmanager
def _progress() -> Iterator[Callable[[Copied], None]]:
    """Show the progress on standard error: as a bar on a terminal, else in lines."""
    screen = Screen(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *(*columns, TimeElapsedColumn()),
        console=screen,
        disable=not screen.is_terminal,
        transient=True,
    ) as bar:
        task, said = bar.add_task("copying pairs"), ""

        def told(done: Copied) -> None:
            nonlocal said
            text = "copying pairs"
            if done.revision:
                text = f"following, {done.followed:,} changes, {done.lag:,} revisions behind"
            bar.update(task, description=text, completed=done.looked, total=done.total)
            if not screen.is_terminal and text != said:
                said = text
                click.echo(text, err=True)

        yield told


def _row(store: stores.StoreStatus) -> dict[str, object]:
    return {
        "store": store.store,
        "node": store.node,
        "port": store.port,
        "leader": store.leader,
        "revision": store.revision,
        "compacted": max(store.compacted, 0),
        "compacting": store.compacting,
        "bytes": store.bytes,
        "leases": store.leases,
        "watches": store.watches,
    }
