"""Imports a plugin in a process of its own, where only the base install of quorate is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from quorate.plugin.catalog import Catalog

#: What the extras install; `plugin.py` is imported where none of it is.
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
    """A process of the kit did not come to its end; the text is what it said last."""


def import_without_extras(catalog: Catalog, plugin: str) -> None:
    """Import the plugin's module where only the base install of quorate is.

    Raises `ProcessError` with the error of the import.
    """
    command = [sys.executable, "-c", _IMPORT_WITHOUT_EXTRAS, _module(catalog, plugin), *EXTRAS]
    _run(command)


def _module(catalog: Catalog, plugin: str) -> str:
    module = catalog.declared[plugin].plugin.module
    if module is None:
        raise ProcessError(f"plugin {plugin} could not be imported")
    return module.__name__


def _run(command: Sequence[str]) -> None:
    path = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise ProcessError(f"a process of its own ended with {done.returncode}: {last[0]}")
