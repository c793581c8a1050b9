"""The installed plugins as the command line sees them: sound ones to use, broken ones to name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click
from pydantic import BaseModel, ConfigDict

from quorate.cli.failures import ExitCode, failure, of_plugins
from quorate.plugin import discovery
from quorate.plugin.checks import HOST_CLI_COMMANDS, problems_of
from quorate.plugin.declarations import CliCommand
from quorate.plugin.declared import Declared, declare
from quorate.plugin.problems import PluginProblem


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

    def problems_of(self, name: str) -> list[PluginProblem]:
        """Return the problems of one plugin."""
        return [problem for problem in self.problems if problem.plugin == name]

    def cli_commands(self) -> Mapping[str, tuple[Declared, CliCommand]]:
        """Return the commands of sound plugins by name."""
        return {
            command.name: (plugin, command)
            for plugin in self.declared
            if plugin.plugin.name not in self.broken
            for command in commands_of(plugin)
        }

    def section_models(self) -> Mapping[str, type[BaseModel] | None]:
        """Return the model of every plugin's section of the configuration."""
        models: dict[str, type[BaseModel] | None] = {}
        for plugin in self.declared:
            sections = [section.model for section in plugin.sections]
            sound = sections[0] if sections else None
            name = plugin.plugin.name
            models[name] = UnjudgedSection if name in self.broken else sound
        return models


def commands_of(plugin: Declared) -> Sequence[CliCommand]:
    """Return a plugin's commands; those of its resources are in the one with its name."""
    name = plugin.plugin.name.replace("_", "-")
    resources = [each for each in plugin.resources if each.view.cli]
    if not resources or name in HOST_CLI_COMMANDS:
        return plugin.cli_commands
    own = next((each for each in plugin.cli_commands if each.name == name), None)

    def load() -> click.Command:
        from quorate.cli.records import group_of

        return group_of(name, resources, None if own is None else own.load())

    help = f"Show and change the data of {name}." if own is None else own.help
    others = [each for each in plugin.cli_commands if each is not own]
    return [*others, CliCommand(name=name, help=help, load=load)]


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
