"""Errors that a user of the data source sees."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final


class SourceError(Exception):
    """A load or a read failed: the message names the fault, its place and its repair."""


_NAMED: Final = re.compile(rf"{re.escape(SourceError.__module__)}\.SourceError: (.*)")


def sentence_of(error: BaseException) -> str | None:
    """Return the message of a `SourceError` within the text of an error of Spark."""
    found = _NAMED.search(str(error))
    return None if found is None else found[1].strip()


def meant(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with the nearest known name, after a space; empty without one."""
    near = difflib.get_close_matches(name.lower(), sorted(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
