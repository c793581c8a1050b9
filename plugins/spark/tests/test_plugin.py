"""What other processes rely on: names that stand in logs, on disks and in other plugins."""

import subprocess
import sys
from typing import Any

from quorate.plugin import CliCommand, ColumnFamily, Command, Extension, ExtensionPoint
from quorate.testing.installed import declarations_of
from quorate_spark import plugin


def test_the_names_that_are_kept_for_ever() -> None:
    assert [family.name for family in declarations_of(plugin, ColumnFamily)] == [
        "spark.loads",
        "spark.partitions",
    ]
    assert [each.message.DESCRIPTOR.full_name for each in declarations_of(plugin, Command)] == [
        "quorate_spark.v1.BeginLoadCommand",
        "quorate_spark.v1.ReportPartitionCommand",
        "quorate_spark.v1.EndLoadCommand",
        "quorate_spark.v1.BeginAbortCommand",
        "quorate_spark.v1.EndAbortCommand",
        "quorate_spark.v1.ForgetLoadCommand",
    ]
    assert [each.name for each in declarations_of(plugin, ExtensionPoint)] == ["spark.tables"]
    assert [each.name for each in declarations_of(plugin, Extension)] == ["loads", "loads"]


def test_the_commands_that_people_see() -> None:
    [command] = declarations_of(plugin, CliCommand)
    group: Any = command.load()

    assert sorted(group.commands) == ["export", "load"]
    assert sorted(group.commands["load"].commands) == [
        *("abort", "check", "forget", "get", "list", "publish", "run"),
    ]


def test_nodes_need_no_spark() -> None:
    """Neither the plugin nor its commands import what only a Spark cluster has."""
    program = (
        "import sys\n"
        "for name in ('pyspark', 'pyarrow', 'pandas'): sys.modules[name] = None\n"
        "import quorate_spark.plugin, quorate_spark.cli, quorate_spark.source.undoing\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
