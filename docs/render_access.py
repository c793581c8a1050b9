"""Renders the built-in roles, and what callers of each method need, from the declarations."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from quorate.builtin.auth import roles
from quorate.builtin.auth.roles import BUILT_IN
from quorate.node.access import needs
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.discovery import installed
from quorate.plugin.needs import UNDECLARED, Need

DOCS: Final = Path(__file__).parent


def catalog() -> Catalog:
    """Return the built-in domains and the plugins of this repository."""
    return build(
        [
            each
            for each in installed()
            if each.built_in or (DOCS.parent / "plugins" / each.name).is_dir()
        ]
    )


def render() -> str:
    """Return the tables of the roles and of the methods."""
    return "\n".join([*_roles(), *_methods()])


def _roles() -> Iterator[str]:
    yield "## Built-in roles\n"
    yield "`plugins` stands for every plugin that is not built in.\n"
    yield "| role | may |"
    yield "|---|---|"
    for role, grants in roles.built_in(["plugins"]).items():
        said = ", ".join(f"`{each.right}` on `{each.domain}`" for each in grants)
        yield f"| `{role}` | {said}: {BUILT_IN[role]} |"
    yield ""


def _methods() -> Iterator[str]:
    found = needs(catalog())
    for service, paths in groupby(sorted(found), key=lambda path: path.split("/")[1]):
        yield f"## {service}\n"
        yield "| method | right | on | tenant | key | how |"
        yield "|---|---|---|---|---|---|"
        for path in paths:
            yield _row(path.split("/")[2], found[path])
        yield ""


def _row(method: str, need: Need) -> str:
    access = need.access
    domain = f"`{need.domain}`" if access.right != "identity" else ""
    within = f"{access.items}." if access.items else ""
    tenant = f"`{within}{access.tenant}`" if access.tenant else ""
    key = f"`{within}{access.key}`" if access.key else ""
    if access.places is not None:
        key = "what it touches"
    elif access.items and not access.tenant and not access.key:
        key = f"`{access.items}`"
    how = "each item" if need.by_command else "filtered" if access.filtered else ""
    if access is UNDECLARED:
        how = "not declared"
    return f"| `{method}` | {access.right} | {domain} | {tenant} | {key} | {how} |"
