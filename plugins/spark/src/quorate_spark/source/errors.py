"""Errors that a user of the data source sees."""

from __future__ import annotations

import re
from typing import Final


class SourceError(Exception):
    """A load or a read failed: what, where, and how to fix it."""


_NAMED: Final = re.compile(rf"{re.escape(SourceError.__module__)}\.SourceError: (.*)")


def sentence_of(error: BaseException) -> str | None:
    """Return what a `SourceError` said that came out of Spark as a text with a traceback."""
    found = _NAMED.search(str(error))
    return None if found is None else found[1].strip()
