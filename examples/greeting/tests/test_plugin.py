"""What other processes rely on: names that stand in logs, on disks and on dashboards."""

from quorate_greeting import plugin


def test_the_names_that_are_kept_for_ever() -> None:
    groups = [group.name for group in plugin.quorate_raft_groups()]
    families = [family.name for family in plugin.quorate_column_families()]
    commands = [command.message.DESCRIPTOR.full_name for command in plugin.quorate_commands()]

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
    controllers = [each.name for each in plugin.quorate_controllers()]

    assert controllers == ["greeting.expiry", "greeting.tally_keeping"]
    assert [metric.name for metric in plugin.quorate_metrics()] == ["quorate_greeting_hellos_total"]
    assert [command.name for command in plugin.quorate_cli_commands()] == ["greeting"]


def test_clients_cannot_do_what_timers_and_controllers_do() -> None:
    public = {command.message.__name__ for command in plugin.quorate_commands() if command.public}

    assert public == {"SayHelloCommand", "SayHelloBatchCommand", "ForgetCommand"}


def test_the_command_line_loads_its_group() -> None:
    [command] = plugin.quorate_cli_commands()

    assert sorted(command.load().commands) == ["salutations", "salute"]  # type: ignore[attr-defined]


def test_the_own_salutations_come_through_the_extension_point() -> None:
    point, *given = plugin.quorate_extensions()

    assert {each.point for each in given} == {point.name}  # type: ignore[union-attr]
