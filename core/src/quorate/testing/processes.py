"""Runs a plugin in processes of its own, under conditions that must make no difference."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from quorate.apply.entries import LoggedCommand
from quorate.plugin.catalog import Catalog
from quorate.testing.logs import Played

#: Hash seed, time zone and locale; zones are spelt out, since a machine may have no zone files.
CONDITIONS: Final[tuple[Mapping[str, str], ...]] = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC0", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "TZ": "IST-5:30", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "2", "TZ": "NST3:30", "LC_ALL": "de_DE.UTF-8"},
    {"PYTHONHASHSEED": "3", "TZ": "NZST-12", "LC_ALL": "tr_TR.UTF-8"},
)

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


def play_under_conditions(catalog: Catalog, log: Sequence[LoggedCommand]) -> list[Played]:
    """Play the log in one process a condition, and return what came of it in each."""
    plugins = [(name, _module(catalog, name)) for name in catalog.declared]
    entries = [(each.type, each.payload.hex()) for each in log]
    asked = json.dumps({"plugins": plugins, "log": entries})
    command = [sys.executable, "-m", "quorate.testing.played"]
    with ThreadPoolExecutor() as pool:
        said = pool.map(lambda conditions: _run(command, asked, conditions), CONDITIONS)
        answers = [json.loads(text) for text in said]
    return [
        Played(digests=answer["digests"], outcomes=tuple(answer["outcomes"])) for answer in answers
    ]


def import_without_extras(catalog: Catalog, plugin: str) -> None:
    """Import the plugin's module where only the base install of quorate is.

    Raises `ProcessError` with the error of the import.
    """
    command = [sys.executable, "-c", _IMPORT_WITHOUT_EXTRAS, _module(catalog, plugin), *EXTRAS]
    _run(command, "", {})


def _module(catalog: Catalog, plugin: str) -> str:
    module = catalog.declared[plugin].plugin.module
    if module is None:
        raise ProcessError(f"plugin {plugin} could not be imported")
    return module.__name__


def _run(command: Sequence[str], text: str, conditions: Mapping[str, str]) -> str:
    path = os.pathsep.join(each for each in sys.path if each)
    environment = {**os.environ, "PYTHONPATH": path, **conditions}
    done = subprocess.run(
        command,
        input=text,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise ProcessError(f"a process of its own ended with {done.returncode}: {last[0]}")
    return done.stdout
