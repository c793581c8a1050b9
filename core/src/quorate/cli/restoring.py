"""`quorate restore`: a cluster as it was, in an empty node, or its rows in a running cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from quorate.cli.backup import PlaceType, copy
from quorate.cli.failures import ExitCode, Failure, failure, not_installed, problem, usage
from quorate.cli.options import flag, option
from quorate.cli.serve import config_option, workers_in
from quorate.cli.terminal import Terminal
from quorate.plugin.console import dry_run_option
from quorate.storage.backup_stores import Place

if TYPE_CHECKING:
    from quorate.cli.restore_rows import Found, Refused

#: How many refused rows are named.
_NAMED: Final = 20


def _moment(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Return a moment in milliseconds since 1970."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        what = f"{text!r} is not a time: write 2026-11-22T10:00:00Z, or use another offset"
        raise click.BadParameter(what, ctx, param)
    return round(at.timestamp() * 1_000)


@click.command("restore")
@click.argument("directory", metavar="DIR", type=PlaceType())
@option("--to until_ms", "Restore the state at this time.", callback=_moment, metavar="TIME")
@flag("--beside", "Write rows into the running cluster.")
@option("--tenant", "With --beside: this tenant's rows.", default="", metavar="NAME")
@option("--shard", "With --beside: this shard's rows.", default="", metavar="GROUP/N")
@option("--group", "With --beside: this group's rows.", default="", metavar="GROUP")
@dry_run_option
@flag("--replace", "With --beside: replace rows that differ now.")
@flag("--delete", "With --beside: delete rows that came later.")
@config_option
@click.pass_obj
def command(
    terminal: Terminal,
    /,
    directory: Place,
    until_ms: int | None,
    beside: bool,
    plan: bool,
    **chosen: Any,
) -> None:
    """Fill the empty node.dir of a node with the backup in DIR; no node may run there.

    DIR is a directory, or with the extra `s3` a URL such as s3://bucket/prefix. An archive of
    `quorate backup --follow` is restored to TIME, written as 2026-11-22T10:00:00Z, or to its end.

    The node is then a cluster of its own, which starts with `quorate serve`; add other nodes to
    it. On a machine with workers, it is the first worker.

    With --beside, no node is filled: DIR is restored in a sandbox, and rows that the running
    cluster lacks are created in it: all, or those of one tenant, shard or group. If existing rows
    differ, nothing is written, unless --replace replaces them; later rows stay, unless
    --delete deletes them.
    """
    try:
        import quorate.node.directory  # noqa: F401
        from quorate.shards.snapshots.parts import BackupError
    except ModuleNotFoundError as error:
        raise not_installed(error, "a restore") from error
    try:
        if beside:
            with ExitStack() as stack:
                _beside(terminal, stack, directory, until_ms, plan=plan, **chosen)
        elif any(chosen.values()):
            raise click.UsageError(
                "--tenant, --shard, --group, --replace and --delete need --beside: an empty"
                " node receives everything"
            )
        else:
            _fill(terminal, directory, until_ms, plan=plan)
    except BackupError as error:
        raise failure(str(error)) from error


def _fill(terminal: Terminal, directory: Place, until_ms: int | None, *, plan: bool) -> None:
    from quorate.node.directory import restorable, restore

    settings = terminal.settings()
    if workers := workers_in(terminal, settings):
        settings = workers[0].settings
    restored = (restorable if plan else restore)(directory, settings, until_ms)
    shards = sorted(str(shard) for shard in restored.shards)
    has, then = ("would have", "") if plan else ("has", "; start it with `quorate serve`")
    terminal.report(
        f"{settings.node.name} {has} {', '.join(shards)} in {settings.node.dir}{then}",
        {"node": settings.node.name, "dir": str(settings.node.dir), "shards": shards},
    )


def _beside(
    terminal: Terminal,
    stack: ExitStack,
    directory: Place,
    until_ms: int | None,
    *,
    tenant: str,
    shard: str,
    group: str,
    plan: bool,
    replace: bool,
    delete: bool,
) -> None:
    """Compare rows restored in a sandbox with the cluster's, and write the permitted changes."""
    from quorate.cli.restore_rows import Beside, Selection, slots_of
    from quorate.node.directory import sandboxed
    from quorate.plugin.catalog import build
    from quorate.plugin.shard_id import ShardId

    terminal.warn_of_broken()
    catalog = build([each.plugin for each in terminal.plugins.sound])
    terminal.reached()
    sandbox = Path(stack.enter_context(TemporaryDirectory(prefix="quorate-restore-")))
    then = stack.enter_context(sandboxed(directory, sandbox / "then", until_ms))
    slots = None
    if shard:
        try:
            found = then[ShardId.parse(shard)]
        except (ValueError, KeyError):
            known = ", ".join(map(str, sorted(then)))
            raise usage(f"there was no shard {shard}", f"name one of {known}") from None
        group, slots = ShardId.parse(shard).group, slots_of(found)
    elif group and group not in {each.group for each in then}:
        known = ", ".join(sorted({each.group for each in then}))
        raise usage(f"there was no group {group}", f"name one of {known}")
    terminal.ask(partial(copy, directory=sandbox / "backup"))
    now = stack.enter_context(sandboxed(sandbox / "backup", sandbox / "now", None))
    selection = Selection(tenant=tenant, group=group, slots=slots)
    compared = Beside(catalog, then, now, selection)
    changes = compared.plan()
    replaced = sum(each.kinds["replaced"] for each in changes if each.writes)
    if plan:
        terminal.print(map(_row, changes))
        return
    if replaced and not replace:
        raise failure(
            f"{replaced} rows that differ now would be replaced, and nothing was written",
            "review them with --dry-run, then add --replace",
        )
    refused = terminal.ask(partial(compared.write, deletes=delete))
    terminal.print(map(_row, changes))
    for each in changes:
        missing, other, later = (each.kinds[kind] for kind in ("created", "replaced", "deleted"))
        if not each.writes:
            terminal.warn(
                f"{each.family} cannot be restored beside, because clients have no command for such"
                f" rows; it is unchanged: {missing} rows are missing, {other} differ, {later} came"
                " later; restore an empty node, and copy the missing rows from there"
            )
        elif delete and not each.deletes and later:
            terminal.warn(f"rows of {each.family} cannot be deleted by clients, and stay")
    if refused:
        raise _refusals(refused)


def _row(found: Found) -> dict[str, object]:
    counts = {kind: found.kinds[kind] for kind in ("created", "replaced", "deleted")}
    return {"family": found.family, **counts, "restored": "yes" if found.writes else "no"}


def _refusals(refused: Sequence[Refused]) -> Failure:
    problems = [
        problem(f"{each.family} {each.key!r} was refused: {each.why}") for each in refused[:_NAMED]
    ]
    if more := Counter(each.family for each in refused[_NAMED:]):
        counts = ", ".join(f"{count} of {family}" for family, count in sorted(more.items()))
        problems.append(problem(f"and so were {counts}"))
    return Failure(ExitCode.FAILED, problems)
