"""`quorate plugin`: lists and checks installed plugins, and serves plugin authors."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quorate.cli.deferred import AskingCommand
from quorate.cli.encoding import fields_of
from quorate.cli.failures import ExitCode, Failure, failure, failures, of_plugins
from quorate.cli.options import DIRECTORY, flag
from quorate.cli.terminal import ADMIN, Terminal
from quorate.plugin.console import dry_run_option
from quorate.plugin.declarations import CliCommand, ConsolePage
from quorate.plugin.nearness import meant
from quorate.v1.admin_pb2 import PurgedRows, PurgePluginRequest

if TYPE_CHECKING:
    from quorate.cli.installed import InstalledPlugins
    from quorate.client import AsyncClient
    from quorate.plugin import Controller, Timer
    from quorate.plugin.declared import Declared
    from quorate.plugin.problems import PluginProblem

FOLDER = DIRECTORY


@click.group("plugin")
def command() -> None:
    """List and check the installed plugins; write a new one."""


@command.command("list")
@click.pass_obj
def list_plugins(terminal: Terminal) -> None:
    """List the installed plugins and their declarations.

    A plugin is enabled when the configuration names it, built in when it comes with the core,
    broken when it has a problem, and available otherwise.
    """
    enabled = terminal.settings().plugins.enabled
    rows = [_row(plugin, terminal.plugins, enabled) for plugin in terminal.plugins.declared]
    if terminal.json:
        terminal.print(rows)
    else:
        terminal.print([_for_people(row) for row in rows])


def _row(
    declared: Declared, plugins: InstalledPlugins, enabled: Sequence[str]
) -> dict[str, object]:
    plugin = declared.plugin
    problems = plugins.problems_of(plugin.name)
    background: list[Controller | Timer] = [*declared.controllers, *declared.timers]
    served = "built in" if plugin.built_in else "enabled"
    sound = served if plugin.built_in or plugin.name in enabled else "available"
    return {
        **fields_of(plugin, "name distribution version"),
        "state": "broken" if problems else sound,
        "groups": sorted(group.name for group in declared.groups),
        "families": sorted(family.name for family in declared.families),
        "commands": sorted(each.message.DESCRIPTOR.full_name for each in declared.commands),
        "queries": sorted(each.message.DESCRIPTOR.full_name for each in declared.queries),
        "controllers": sorted(each.name for each in background),
        "services": sorted(service.full_name for service in declared.services),
        "problems": [fields_of(each, "where what fix") for each in problems],
    }


def _for_people(row: dict[str, object]) -> dict[str, object]:
    """Return a row that fits a terminal: three columns, with declarations one per line."""
    declares: list[str] = []
    for kind, names in row.items():
        if isinstance(names, list) and names and kind != "problems":
            declares += [f"{kind}:", *(f"  {name}" for name in names)]
    problems = row["problems"]
    if isinstance(problems, list):
        for each in problems:
            declares += ["problem:", f"  {each['what']}; {each['fix']}"]
            declares += [f"  at {each['where']}"] if each["where"] else []
    return {
        "plugin": [row["name"], row["distribution"], row["version"]],
        "state": row["state"],
        "declares": declares,
    }


@command.command("check")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.pass_obj
def check(terminal: Terminal, names: tuple[str, ...]) -> None:
    """Check the named plugins, or all, and list every problem.

    Generated code is compared with its .proto files where a plugin is installed from its sources,
    and quorate with the extra `dev`. A use of a deprecated name is no problem yet: it is listed
    with its line, the release that removes the name, and what to write.
    """
    from quorate.cli.deprecated_uses import deprecated_uses
    from quorate.cli.protos import check_plugin
    from quorate.plugin.checks import placeless

    plugins = terminal.plugins
    checked = _named(plugins, names) if names else plugins.declared
    wanted = {declared.plugin.name for declared in checked}
    problems = [problem for problem in plugins.problems if problem.plugin in wanted]
    generated: dict[str, str] = {}
    for declared in checked:
        found, stale = check_plugin(declared.plugin)
        generated[declared.plugin.name] = found
        problems += [declared.plugin.problem(what, fix) for what, fix in stale]
        problems += misnamed(declared, plugins.cli_commands())
    if problems:
        raise of_plugins(problems)
    terminal.print(
        {
            **fields_of(declared.plugin, "name distribution version"),
            "result": "sound",
            "generated code": generated[declared.plugin.name],
            "notes": [
                f"{family.name} is private and has no shard_key: its rows are their shard's own, "
                "and stay there when shards grow"
                for family in placeless(declared)
            ],
            "deprecated": list(deprecated_uses(declared.plugin)),
        }
        for declared in checked
    )


def _named(plugins: InstalledPlugins, names: Sequence[str]) -> Sequence[Declared]:
    """Return the plugins of these names, or fail with the names that are not installed."""
    known = [declared.plugin.name for declared in plugins.declared]
    missing = sorted(set(names) - set(known))
    if missing:
        installed = f"installed: {', '.join(known)}" if known else "none is"
        fix = f"install it; {installed}"
        raise failures(
            ((f"no plugin {name} is installed", fix) for name in missing), ExitCode.PLUGIN
        )
    return [declared for declared in plugins.declared if declared.plugin.name in names]


def misnamed(
    declared: Declared, commands: Mapping[str, tuple[Declared, CliCommand]]
) -> Iterator[PluginProblem]:
    """Yield a problem for each command of a plugin's pages that no plugin has.

    Commands of the host itself are not looked at.
    """
    for extension in declared.extensions:
        page = extension.value
        if not isinstance(page, ConsolePage):
            continue
        for title, words in _commands_of(page):
            found = commands.get(words[0]) if words else None
            if found is None:
                continue
            word, known = _unknown(found[1].load(), words[1:])
            if word:
                yield declared.plugin.problem(
                    f"console page {page.title!r} has {title!r} of the command "
                    f"`quorate {' '.join(words)}`, and there is no {word!r}",
                    meant(word, known),
                    where=extension.where,
                )


def _commands_of(page: ConsolePage) -> Iterator[tuple[str, Sequence[str]]]:
    yield from page.tables.items()
    for verb, action in page.actions.items():
        yield verb, action.command
        yield verb, action.plan


def _unknown(command: click.Command, words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the first word that no group knows, and the words that it does know."""
    for word in takewhile(lambda each: not each.startswith(("-", "{")), words):
        if not isinstance(command, click.Group):
            break
        known = command.list_commands(click.Context(command))
        found = command.get_command(click.Context(command), word)
        if found is None:
            return word, known
        command = found
    return "", []


@command.command("reference")
@click.argument("name")
@click.pass_obj
def reference(terminal: Terminal, name: str) -> None:
    """Print the reference of the resources of the plugin NAME, as Markdown.

    The meanings of rows, fields and methods are their comments in the .proto files.
    """
    from quorate.cli.reference import reference_of

    plugins = terminal.plugins
    [declared] = _named(plugins, [name])
    if problems := plugins.problems_of(name):
        raise of_plugins(problems)
    if not declared.resources:
        raise failure(
            f"plugin {name} declares no resource",
            "return its resources from quorate_declarations, or name another plugin",
        )
    click.echo(reference_of(declared, plugins), nl=False)


@command.command("purge", cls=AskingCommand)
@click.argument("name")
@flag("--yes", "Do not ask.")
@dry_run_option
@click.pass_obj
def purge(terminal: Terminal, name: str, yes: bool, plan: bool) -> None:
    """Delete all rows of the plugin NAME, which no node serves any longer, on every node.

    It shows the number of rows and asks for confirmation. A node that is down deletes them when it
    is back. Run again after an interruption, it resumes.
    """

    async def rows_of(client: AsyncClient, *, count_only: bool) -> Counter[tuple[str, str]]:
        found = Counter[tuple[str, str]]()
        request = PurgePluginRequest(plugin=name, count_only=count_only)
        async for rows in client.stream(f"{ADMIN}/PurgePlugin", request, PurgedRows):
            found[rows.shard, rows.family] += rows.rows
        return found

    found = terminal.ask(lambda client: rows_of(client, count_only=True))
    if plan or not terminal.json:
        terminal.print(
            {"shard": shard, "family": family, "rows": rows}
            for (shard, family), rows in found.items()
        )
    if plan:
        return
    if found and not yes:
        asked = f"Delete these {found.total()} rows of {name} for ever?"
        if not sys.stdin.isatty() or not click.confirm(asked, err=True):
            raise failure("nothing was deleted", "confirm it with --yes")
    # Without rows, too: an interrupted purge may have left deadlines.
    deleted = terminal.ask(lambda client: rows_of(client, count_only=False))
    families = sorted({family for _, family in deleted})
    terminal.report(
        f"deleted {deleted.total()} rows of {name} in {len(families)} families; nothing is left",
        {"plugin": name, "rows": deleted.total(), "families": families},
    )


@command.command("new")
@click.argument("name")
@click.argument("folder", type=FOLDER, default=Path(), metavar="[DIR]")
@click.pass_obj
def new(terminal: Terminal, name: str, folder: Path) -> None:
    """Write a small working plugin into DIR/NAME, as a start for your own.

    Needs the extra `dev` of quorate, for the protobuf compiler.
    """
    from quorate.cli.new_plugin import write_plugin

    terminal.print({"written": str(path)} for path in write_plugin(name, folder))


@command.command("protos")
@click.argument("folder", type=FOLDER, metavar="DIR")
@flag("--check", "Write nothing; fail if anything would change or break.")
@flag("--accept", "Accept the current files as the golden set.")
@click.pass_obj
def protos(terminal: Terminal, folder: Path, check: bool, accept: bool) -> None:
    """Generate the protobuf code of the distribution in DIR, beside its .proto files.

    The golden descriptor set of the last release is DIR/tests/golden/<name>.binpb, named after the
    plugin. Needs the extra `dev` of quorate.
    """
    from quorate.cli import protos as pipeline

    if check and accept:
        raise click.UsageError("--check writes nothing and --accept writes: choose one.")
    source = pipeline.source_of(folder)
    generated = pipeline.generate(source)
    if check:
        problems = pipeline.differences(source, generated)
        if problems:
            raise Failure(ExitCode.FAILED, problems)
        return
    written = pipeline.write(source, generated)
    if accept:
        written += pipeline.accept(source, generated)
    terminal.print({"written": str(path)} for path in written)
