"""What the commands that a plugin adds to `quorate` hold."""

from collections.abc import Iterable, Mapping
from typing import Protocol


class Console(Protocol):
    """The `obj` of the click context: how a command of the command line answers."""

    def print(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Write rows to standard output, as a table or as a JSON array, as the user asked.

        Bytes are shown as text, or in base64 where they are none.
        """
