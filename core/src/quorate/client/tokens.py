"""The bearer token that authenticates a client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Final, Self

from quorate.client.errors import InvalidError

_TOKEN: Final = "QUORATE_TOKEN"
_FILE: Final = "QUORATE_TOKEN_FILE"
#: Seconds between two reads of the file.
_LOOK_S: Final = 1.0


class BearerToken:
    """A token, or the file that holds one; a file that was replaced is read again."""

    def __init__(self, token: str | Path) -> None:
        self._file: Final = token if isinstance(token, Path) else None
        self._looked_at = float("-inf")
        self._metadata: tuple[tuple[str, str], ...] = ()
        if isinstance(token, str):
            self._metadata = _metadata("token", token)

    @classmethod
    def of(
        cls, token: str | Path | None, environment: Mapping[str, str] | None = None
    ) -> Self | None:
        """Return a given token, else that of QUORATE_TOKEN or QUORATE_TOKEN_FILE, if any."""
        if token is not None:
            return cls(token)
        known = os.environ if environment is None else environment
        if text := known.get(_TOKEN):
            return cls(text)
        file = known.get(_FILE)
        return cls(Path(file)) if file else None

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata of each call; raises `InvalidError` for a file without a token."""
        if self._file is not None and (now := monotonic()) - self._looked_at >= _LOOK_S:
            self._metadata = _metadata(str(self._file), _read(self._file))
            self._looked_at = now
        return self._metadata


def _metadata(where: str, token: str) -> tuple[tuple[str, str], ...]:
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidError("token", f"{where} contains no token: one word of letters and digits")
    return (("authorization", f"Bearer {token}"),)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except UnicodeDecodeError:
        return ""
    except OSError as error:
        raise InvalidError("token", f"{file} cannot be read: {error.strerror}") from error
