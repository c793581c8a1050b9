"""Plays a log from standard input in a process of its own, and prints what came of it.

The conformance kit starts it: `python -m quorate.testing.played`.
"""

import importlib
import json
import locale
import sys

from quorate.apply.entries import LoggedCommand
from quorate.plugin.catalog import assemble
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin
from quorate.testing.logs import memory_shard, play


def main() -> None:
    """Read the names of plugins, their modules and a log as JSON; write digests and outcomes."""
    asked = json.load(sys.stdin)
    try:
        locale.setlocale(locale.LC_ALL, "")
    except locale.Error:
        # The machine has not installed that locale: the other conditions still differ.
        locale.setlocale(locale.LC_ALL, "C")
    plugins = [
        Plugin(name=name, distribution=name, version="0", module=importlib.import_module(module))
        for name, module in asked["plugins"]
    ]
    log = [LoggedCommand(kind, bytes.fromhex(payload)) for kind, payload in asked["log"]]
    played = play(assemble([declare(plugin) for plugin in plugins]), log, memory_shard)
    json.dump({"digests": dict(played.digests), "outcomes": played.outcomes}, sys.stdout)


if __name__ == "__main__":
    main()
