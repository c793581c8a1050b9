"""What other processes rely on: names that stand in logs and on disks."""

from quorate.builtin.kv import plugin


def test_the_names_that_are_kept_for_ever() -> None:
    families = [(family.name, family.group) for family in plugin.quorate_column_families()]
    commands = [command.message.DESCRIPTOR.full_name for command in plugin.quorate_commands()]

    assert families == [("kv.pairs", "metadata")]
    assert [each.name for each in plugin.quorate_controllers()] == ["kv.ttl"]
    assert sorted(commands) == [
        "quorate.v1.CommitPairs",
        "quorate.v1.CommitPairsBatch",
        "quorate.v1.DeletePair",
        "quorate.v1.DeletePairs",
        "quorate.v1.ExpirePairs",
        "quorate.v1.PutPair",
        "quorate.v1.PutPairs",
        "quorate.v1.TouchPair",
        "quorate.v1.TouchPairs",
    ]


def test_clients_cannot_do_what_the_timer_does() -> None:
    internal = {each.message.__name__ for each in plugin.quorate_commands() if not each.public}

    assert internal == {"ExpirePairs"}
