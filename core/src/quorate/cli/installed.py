"""The installed plugins as the command line sees them: sound ones to use, broken ones to name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
from pydantic import BaseModel, ConfigDict

from quorate.cli.deferred import in_any_number
from quorate.cli.failures import ExitCode, failure, of_plugins
from quorate.plugin import discovery
from quorate.plugin.checks import HOST_CLI_COMMANDS, problems_of
from quorate.plugin.declarations import CliCommand
from quorate.plugin.declared import Declared, declare
from quorate.plugin.problems import PluginProblem
from quorate.plugin.resource import Resource
from quorate.plugin.resource.binding import command_noun


class UnjudgedSection(BaseModel):
    """Accepts any section of a broken plugin: its content is not the user's mistake."""

    model_config = ConfigDict(extra="allow", frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPlugins:
    """Every installed plugin in the order of the names, with all that is wrong with them."""

    declared: Sequence[Declared]
    problems: Sequence[PluginProblem]

    @property
    def broken(self) -> frozenset[str]:
        """The names of those with problems."""
        return frozenset(problem.plugin for problem in self.problems)

    @property
    def sound(self) -> list[Declared]:
        """Those without a problem."""
        broken = self.broken
        return [each for each in self.declared if each.plugin.name not in broken]

    def problems_of(self, name: str) -> list[PluginProblem]:
        """Return the problems of one plugin."""
        return [problem for problem in self.problems if problem.plugin == name]

    def cli_commands(self) -> Mapping[str, tuple[Declared, CliCommand]]:
        """Return the commands of sound plugins by name."""
        return {
            command.name: (plugin, command)
            for plugin in self.sound
            for command in commands_of(plugin)
        }

    def section_models(self) -> Mapping[str, type[BaseModel] | None]:
        """Return the model of every plugin's section of the configuration."""
        broken = self.broken
        return {
            each.plugin.name: UnjudgedSection
            if each.plugin.name in broken
            else next((section.model for section in each.sections), None)
            for each in self.declared
        }


def commands_of(plugin: Declared) -> Sequence[CliCommand]:
    """Return a plugin's commands, completed by those of its resources."""
    below: dict[str, list[Resource[Any]]] = {}
    for each in plugin.resources:
        root = path_of(plugin, each)[0]
        if each.view.cli and root not in HOST_CLI_COMMANDS:
            below.setdefault(root, []).append(each)
    own = {each.name: each for each in plugin.cli_commands}
    made = [_completed(root, found, own.get(root)) for root, found in below.items()]
    return [*(each for name, each in own.items() if name not in below), *made]


def path_of(plugin: Declared, resource: Resource[Any]) -> Sequence[str]:
    """Return the words of a resource's group of commands.

    They are the plugin's name and the noun; the noun alone where the plugin, or a command of it,
    has that name.
    """
    root, noun = plugin.plugin.name.replace("_", "-"), command_noun(resource)
    roots = {root, *(each.name for each in plugin.cli_commands)}
    named = in_any_number(noun, roots)
    return (named,) if named in roots else (root, noun)


def _completed(name: str, resources: Sequence[Resource[Any]], own: CliCommand | None) -> CliCommand:
    def load() -> click.Command:
        from quorate.cli.records import group_of

        return group_of(name, resources, None if own is None else own.load())

    if own is None:
        return CliCommand(name=name, help=f"Show and change the data of {name}.", load=load)
    return replace(own, load=load)


def command_of(plugin: str, name: str) -> tuple[str, Callable[[], click.Command]]:
    """Return who owns a command of a sound plugin, and what loads it; no other one is imported."""
    for found in map(declare, discovery.installed({plugin})):
        for each in commands_of(found):
            if each.name == name:
                owner = f"{plugin} ({found.plugin.distribution} {found.plugin.version})"
                return owner, each.load
        if found.problems:
            raise of_plugins(found.problems)
    raise failure(
        f"plugin {plugin} has no command {name} any more",
        "run it again: what is remembered of the plugins is older than they are",
        ExitCode.PLUGIN,
    )


def find() -> InstalledPlugins:
    """Load every installed plugin and hold them against each other."""
    declared = [declare(plugin) for plugin in discovery.installed()]
    return InstalledPlugins(declared=declared, problems=problems_of(declared))
