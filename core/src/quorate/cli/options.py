"""Options of commands, each in a line: its names, its help, and what it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])

#: A directory, which may be made.
DIRECTORY: Final = click.Path(file_okay=False, path_type=Path)


def option(
    names: str,
    help: str,
    kind: click.ParamType[Any] | None = None,
    default: object = None,
    **more: Any,
) -> Callable[[C], C]:
    """Give a command an option; `names` are those of click, and a default is shown."""
    if default is not None:
        more = {"default": default, "show_default": bool(default), **more}
    return click.option(*names.split(), help=help, type=kind, **more)


def flag(names: str, help: str) -> Callable[[C], C]:
    """Give a command an option that takes no value."""
    return click.option(*names.split(), help=help, is_flag=True)
