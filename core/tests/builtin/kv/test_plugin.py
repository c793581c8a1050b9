"""What other processes rely on: names that stand in logs and on disks."""

from quorate.builtin.kv import plugin
from quorate.plugin import ColumnFamily, Command, Timer
from quorate.testing.installed import declarations_of


def test_the_names_that_are_kept_for_ever() -> None:
    families = [(family.name, family.group) for family in declarations_of(plugin, ColumnFamily)]
    commands = [
        command.message.DESCRIPTOR.full_name for command in declarations_of(plugin, Command)
    ]

    assert families == [("kv.pairs", "metadata")]
    assert [each.name for each in declarations_of(plugin, Timer)] == ["kv.ttl"]
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
    internal = {
        each.message.__name__ for each in declarations_of(plugin, Command) if not each.public
    }

    assert internal == {"ExpirePairs"}
