"""Parts of the client from other distributions: the entry points of group `quorate.client`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from quorate.client.errors import InvalidError
from quorate.plugin.markers import PROJECT

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient
    from quorate.client.synchronous import Client

A = TypeVar("A")
S = TypeVar("S")

#: The name of an entry point is that of the part; its value is an `Extension`.
GROUP: Final = f"{PROJECT}.client"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension(Generic[A, S]):
    """A part of the client, made when it is used: one for each of the two clients."""

    asynchronous: Callable[[AsyncClient], A]
    synchronous: Callable[[Client], S]


@cache
def extension(name: str) -> Extension[Any, Any]:
    """Import the extension of a name.

    Raises `InvalidError` when no distribution offers it, several do, or the one that does is
    broken: the error names the distribution to install or to repair.
    """
    # A path may hold the same distribution twice.
    points = {(_owner(each), each.value): each for each in entry_points(group=GROUP, name=name)}
    if not points:
        raise InvalidError(
            name,
            f"no installed distribution offers it to clients:"
            f" pip install --upgrade {PROJECT}-{name.replace('_', '-')}",
        )
    if len(points) > 1:
        owners = " and ".join(sorted(owner for owner, _ in points))
        raise InvalidError(name, f"it is offered by {owners}: uninstall all but one of them")
    [((owner, value), point)] = points.items()
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise InvalidError(name, f"cannot import {value}: {error}: reinstall {owner}") from error
    if not isinstance(found, Extension):
        raise InvalidError(
            name,
            f"{value} is of type {type(found).__name__}, not an Extension:"
            f" install another release of {owner}",
        )
    return found


def _owner(point: EntryPoint) -> str:
    return "an unknown distribution" if point.dist is None else point.dist.name
