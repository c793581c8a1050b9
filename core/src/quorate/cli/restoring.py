"""`quorate restore`: a cluster as it was, in an empty node, or its rows in a running cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click

from quorate.cli.backup import PlaceType, copy
from quorate.cli.failures import ExitCode, Failure, failure, not_installed, problem
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
@click.option(
    "--to", "until_ms", callback=_moment, metavar="TIME", help="Restore the state at this time."
)
@click.option("--beside", is_flag=True, help="Write rows into the running cluster.")
@click.option("--tenant", default="", metavar="NAME", help="With --beside: this tenant's rows.")
@click.option("--shard", default="", metavar="GROUP/N", help="With --beside: this shard's rows.")
@click.option("--group", default="", metavar="GROUP", help="With --beside: this group's rows.")
@dry_run_option
@click.option("--replace", is_flag=True, help="With --beside: replace rows that differ now.")
@click.option("--delete", is_flag=True, help="With --beside: delete rows that came later.")
@config_option
@click.pass_obj
def command(
    terminal: Terminal,
    directory: Place,
    until_ms: int | None,
    beside: bool,
    tenant: str,
    shard: str,
    group: str,
    plan: bool,
    replace: bool,
    delete: bool,
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
                _Beside(terminal, stack, directory, until_ms).restore(
                    tenant, shard, group, plan=plan, replace=replace, delete=delete
                )
        elif tenant or shard or group or replace or delete:
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


class _Beside:
    """Restores rows of a place into the running cluster, by a sandbox."""

    def __init__(
        self, terminal: Terminal, stack: ExitStack, directory: Place, until_ms: int | None
    ) -> None:
        from quorate.plugin.catalog import build

        terminal.warn_of_broken()
        plugins = terminal.plugins
        self._terminal: Final = terminal
        self._stack: Final = stack
        self._directory: Final = directory
        self._until_ms: Final = until_ms
        self._catalog: Final = build(
            [e.plugin for e in plugins.declared if e.plugin.name not in plugins.broken]
        )

    def restore(
        self, tenant: str, shard: str, group: str, *, plan: bool, replace: bool, delete: bool
    ) -> None:
        """Compare the restored rows with the cluster, and write the permitted changes."""
        from quorate.cli.restore_rows import Beside, Selection, slots_of
        from quorate.node.directory import sandboxed
        from quorate.plugin.shard_id import ShardId

        terminal = self._terminal
        terminal.reached()
        sandbox = Path(self._stack.enter_context(TemporaryDirectory(prefix="quorate-restore-")))
        then = self._stack.enter_context(
            sandboxed(self._directory, sandbox / "then", self._until_ms)
        )
        slots = None
        if shard:
            try:
                found = then[ShardId.parse(shard)]
            except (ValueError, KeyError):
                known = ", ".join(map(str, sorted(then)))
                raise failure(
                    f"there was no shard {shard}", f"name one of {known}", ExitCode.USAGE
                ) from None
            group, slots = ShardId.parse(shard).group, slots_of(found)
        elif group and group not in {each.group for each in then}:
            known = ", ".join(sorted({each.group for each in then}))
            raise failure(f"there was no group {group}", f"name one of {known}", ExitCode.USAGE)
        terminal.ask(partial(copy, directory=sandbox / "backup"))
        now = self._stack.enter_context(sandboxed(sandbox / "backup", sandbox / "now", None))
        selection = Selection(tenant=tenant, group=group, slots=slots)
        compared = Beside(self._catalog, then, now, selection)
        changes = compared.plan()
        replaced = sum(each.kinds.get("replaced", 0) for each in changes if each.writes)
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
            if not each.writes:
                terminal.warn(
                    f"{each.family} cannot be restored beside, because clients have no command"
                    f" for such rows; it is unchanged: {_counts(each)}; restore an empty node, and"
                    " copy the missing rows from there"
                )
            elif delete and not each.deletes and each.kinds.get("deleted"):
                terminal.warn(f"rows of {each.family} cannot be deleted by clients, and stay")
        if refused:
            raise _refusals(refused)


def _row(found: Found) -> dict[str, object]:
    kinds = ("created", "replaced", "deleted")
    counts = {kind: found.kinds.get(kind, 0) for kind in kinds}
    return {"family": found.family, **counts, "restored": "yes" if found.writes else "no"}


def _counts(found: Found) -> str:
    missing, other, later = (
        found.kinds.get(kind, 0) for kind in ("created", "replaced", "deleted")
    )
    return f"{missing} rows are missing, {other} differ, {later} came later"


def _refusals(refused: Sequence[Refused]) -> Failure:
    problems = [
        problem(f"{each.family} {each.key!r} was refused: {each.why}") for each in refused[:_NAMED]
    ]
    if more := Counter(each.family for each in refused[_NAMED:]):
        counts = ", ".join(f"{count} of {family}" for family, count in sorted(more.items()))
        problems.append(problem(f"and so were {counts}"))
    return Failure(ExitCode.FAILED, problems)
