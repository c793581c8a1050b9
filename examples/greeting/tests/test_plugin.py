"""What other processes rely on: names that stand in logs, on disks and on dashboards."""

from quorate.plugin import (
    CliCommand,
    ColumnFamily,
    Command,
    Controller,
    Extension,
    ExtensionPoint,
    Metric,
    RaftGroup,
    Timer,
)
from quorate.testing.installed import declarations_of
from quorate_greeting import plugin


def test_the_names_that_are_kept_for_ever() -> None:
    groups = [group.name for group in declarations_of(plugin, RaftGroup)]
    families = [family.name for family in declarations_of(plugin, ColumnFamily)]
    commands = [
        command.message.DESCRIPTOR.full_name for command in declarations_of(plugin, Command)
    ]

    assert groups == ["greeting"]
    assert families == ["greeting.greetings", "greeting.tallies"]
    assert commands == [
        "quorate_greeting.v1.SayHelloCommand",
        "quorate_greeting.v1.SayHelloBatchCommand",
        "quorate_greeting.v1.ForgetCommand",
        "quorate_greeting.v1.ExpireGreetingsCommand",
        "quorate_greeting.v1.RecordTallyCommand",
    ]


def test_the_names_that_operators_see() -> None:
    assert [each.name for each in declarations_of(plugin, Timer)] == ["greeting.expiry"]
    controllers = [each.name for each in declarations_of(plugin, Controller)]
    assert controllers == ["greeting.tally_keeping"]
    assert [metric.name for metric in declarations_of(plugin, Metric)] == [
        "quorate_greeting_hellos_total"
    ]
    assert [command.name for command in declarations_of(plugin, CliCommand)] == ["greeting"]


def test_clients_cannot_do_what_timers_and_controllers_do() -> None:
    public = {
        command.message.__name__ for command in declarations_of(plugin, Command) if command.public
    }

    assert public == {"SayHelloCommand", "SayHelloBatchCommand", "ForgetCommand"}


def test_the_command_line_loads_its_group() -> None:
    [command] = declarations_of(plugin, CliCommand)

    assert sorted(command.load().commands) == ["salutation", "salute"]  # type: ignore[attr-defined]


def test_the_own_salutations_come_through_the_extension_point() -> None:
    [point] = declarations_of(plugin, ExtensionPoint)
    given = declarations_of(plugin, Extension)

    assert {each.point for each in given} == {point.name}
