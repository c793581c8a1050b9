"""Paths of znodes."""

from __future__ import annotations

import re
from typing import Final

#: Code points forbidden in the path of a znode.
_REFUSED: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")
#: Maximum length of the path of a new znode: children are read by the hundred.
LONGEST: Final = 4_096


def is_valid(path: str) -> bool:
    """Return whether a path is valid for a znode."""
    if path == "/":
        return True
    return (
        path.startswith("/")
        and not path.endswith("/")
        and not _REFUSED.search(path)
        and all(each not in ("", ".", "..") for each in path[1:].split("/"))
    )


def parent_of(path: str) -> str:
    """Return the path of a znode's parent."""
    return path[: path.rindex("/")] or "/"


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path[path.rindex("/") + 1 :]


def descendants(path: str) -> tuple[bytes, bytes]:
    """Return the start and end of the keys of a znode's descendants."""
    base = b"" if path == "/" else path.encode()
    return (base or b"/") + (b"/" if base else b"\x00"), base + b"0"
