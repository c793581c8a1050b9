from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
from quorate.cli.deferred import DeferredCommand
from quorate.cli.failures import ExitCode
from quorate.cli.main import HOST_COMMANDS, root

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def test_every_exit_code_is_in_the_reference() -> None:
    rows = re.findall(r"^\| (\d+) \| `([A-Z]+)` \|", PAGE, re.MULTILINE)

    assert rows == [(str(int(code)), code.name) for code in ExitCode]


def test_every_command_of_the_host_is_in_the_reference() -> None:
    assert sorted(sections()) == sorted(usage for usage, _ in commands())


def test_every_option_is_in_the_section_of_its_command() -> None:
    told = sections()
    common, _, _ = PAGE.partition("## Exit codes")

    assert [
        (usage, option)
        for usage, command in commands()
        for option in options(command)
        if f"`{option}" not in told[usage] + common
    ] == []
    assert [option for option in options(root) if f"`{option}" not in common] == []


def sections() -> dict[str, str]:
    """The text below each heading of a command."""
    parts = re.split(r"^### `(quorate [^`]+)`$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands() -> Iterator[tuple[str, click.Command]]:
    """How each command is called, and a group that is one by itself."""
    for command in HOST_COMMANDS:
        yield from below("quorate", command)


def below(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    loaded = command.load() if isinstance(command, DeferredCommand) else command
    path = f"{path} {loaded.name}"
    if isinstance(loaded, click.Group):
        if loaded.invoke_without_command:
            yield path, loaded
        for name in loaded.commands:
            yield from below(path, loaded.commands[name])
        return
    arguments = [
        parameter.human_readable_name
        for parameter in loaded.params
        if isinstance(parameter, click.Argument)
    ]
    yield " ".join([path, *arguments]), loaded


def options(command: click.Command) -> list[str]:
    return [
        name
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in parameter.opts
    ]
