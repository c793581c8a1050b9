"""Whether the generated code of an installed plugin is what its `.proto` files say."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from quorate.cli import protos
from quorate.cli.failures import Failure
from quorate.plugin.discovery import Plugin

#: The answers for a plugin without a stale file.
UP_TO_DATE = "up to date"
NOT_CHECKED = f"not checked: {protos.GENERATOR} is not installed"
NO_SOURCES = "no sources here"


def folder_of(plugin: Plugin) -> Path | None:
    """Return the folder of a distribution that is installed from its sources; None of any other."""
    if plugin.module is None or plugin.built_in:
        return None
    file = getattr(sys.modules.get(plugin.module.__name__), "__file__", None)
    if file is None:
        return None
    root = Path(file).resolve().parents[plugin.module.__name__.count(".")]
    has_protos = root.name == "src" and any(root.rglob("*.proto"))
    return root.parent if has_protos and (root.parent / "pyproject.toml").is_file() else None


def check(plugin: Plugin) -> tuple[str, list[tuple[str, str]]]:
    """Return what was found out of a plugin, and each stale file with what repairs it.

    Only the compiler knows: where it is not installed, nothing is said to be stale.
    """
    folder = folder_of(plugin)
    if folder is None:
        return NO_SOURCES, []
    if find_spec("grpc_tools") is None:
        return NOT_CHECKED, []
    again = f"run `quorate plugin protos {folder}`"
    try:
        source = protos.source_of(folder)
        generated = protos.generate(source)
    except Failure as failure:
        return "broken", [(each.sentence, again) for each in failure.problems]
    stale = [
        (f"{path} is not what its source generates", again)
        for path, content in ((source.root / name, it) for name, it in generated.files.items())
        if not path.is_file() or path.read_bytes() != content
    ]
    return ("stale" if stale else UP_TO_DATE), stale
