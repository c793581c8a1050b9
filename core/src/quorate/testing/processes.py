"""Imports a plugin in a separate process, with only the base install of quorate."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

from quorate.plugin.discovery import Plugin

#: The modules of the extras; `plugin.py` is imported without them.
EXTRAS: Final = (
    "grpc_health",
    "grpc_reflection",
    "hypothesis",
    "prometheus_client",
    "pysyncobj",
    "pyspark",
    "pytest",
    "rocksdict",
    "uvloop",
)

_IMPORT_WITHOUT_EXTRAS: Final = """
import importlib, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f"{name} is not part of the base install of quorate")

sys.meta_path.insert(0, Absent())
importlib.import_module(sys.argv[1])
"""

_TIMEOUT_S: Final = 60


class ProcessError(Exception):
    """A process of the kit failed; the text is its last output."""


def import_without_extras(plugin: Plugin) -> None:
    """Import the plugin's module with only the base install of quorate.

    Raises `ProcessError` with the error of the import.
    """
    if plugin.module is None:
        raise ProcessError(f"plugin {plugin.name} could not be imported")
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_WITHOUT_EXTRAS, plugin.module.__name__, *EXTRAS],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        raise ProcessError(f"a separate process exited with {done.returncode}: {last[0]}")
