"""The mark of what is to go from the plugin API: since when, and what to write in its place."""

from __future__ import annotations

import re
import warnings
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    # Type checkers and editors know this one, and tell its text at each use. It is not imported
    # when a plugin runs: a client starts without it.
    from typing_extensions import deprecated
else:

    def deprecated(said: str) -> Any:
        """Mark a function or a method: `@deprecated("since 0.2: write ...")`.

        It works as before, and a call warns with `DeprecationWarning`.
        """

        def mark(found: Any) -> Any:
            @wraps(found)
            def warned(*args: Any, **given: Any) -> Any:
                text = f"{found.__name__} is deprecated {said}"
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                return found(*args, **given)

            warned.__deprecated__ = said
            return warned

        return mark


_SAID: Final = re.compile(r"since (\d+)\.(\d+): (.+)")
#: A name works in the release that deprecates it and in the next one.
_WORKS: Final = 2


class Deprecation(NamedTuple):
    """What is known of a name that is to go."""

    #: The release that deprecated it.
    since: str
    #: The first release without it.
    until: str
    #: What to write in its place.
    instead: str


def deprecation_of(found: object) -> Deprecation | None:
    """Return how a function or a method is deprecated; None: it is not."""
    said = _SAID.fullmatch(getattr(found, "__deprecated__", ""))
    if said is None:
        return None
    major, minor, instead = said.groups()
    return Deprecation(f"{major}.{minor}", f"{major}.{int(minor) + _WORKS}", instead)


__all__ = ["Deprecation", "deprecated", "deprecation_of"]
