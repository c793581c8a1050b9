"""Renders the plugins' source trees side by side."""

from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parent
PLUGINS: Final = sorted(path.parent.name for path in DOCS.glob("../plugins/*/pyproject.toml"))


def render() -> str:
    """Return the table of the trees."""
    trees = [_entries(plugin) for plugin in PLUGINS]
    # Names that plugins share come first, each on a line of its own.
    owners = {
        name: sum(name in tree for tree in trees) for name in sorted(set[str]().union(*trees))
    }
    shared = [name for name, count in owners.items() if count > 1]
    shared.sort(key=lambda name: (-owners[name], name))
    own = [sorted(name for name in tree if owners[name] == 1) for tree in trees]
    rows = [[_code(name) if name in tree else "" for tree in trees] for name in shared]
    rows.append([" ".join(map(_code, (name for name in names if "/" in name))) for names in own])
    rows.append(
        [" ".join(map(_code, (name for name in names if "/" not in name))) for names in own]
    )
    lines = [PLUGINS, ["---"] * len(PLUGINS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _entries(plugin: str) -> set[str]:
    """Return what the package has at its top; `client.py` and `client/` are one name."""
    source = DOCS.parent / "plugins" / plugin / "src" / f"quorate_{plugin}"
    folders = {path.parent.name for path in source.glob("*/__init__.py")}
    modules = {path.stem for path in source.glob("[!_]*.py")}
    either = {"cli", "client"} & (folders | modules)
    return (
        either
        | {f"{name}/" for name in folders - either}
        | {f"{name}.py" for name in modules - either}
    )


def _code(name: str) -> str:
    return f"`{name}`"
