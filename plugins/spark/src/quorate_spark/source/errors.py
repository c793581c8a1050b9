"""Errors that a user of the data source sees."""

from __future__ import annotations

import re
from typing import Final


class SourceError(Exception):
    """A load or a read failed: the message names the fault, its place and its repair."""


_NAMED: Final = re.compile(rf"{re.escape(SourceError.__module__)}\.SourceError: (.*)")


def sentence_of(error: BaseException) -> str | None:
    """Return the message of a `SourceError` within the text of an error of Spark."""
    found = _NAMED.search(str(error))
    return None if found is None else found[1].strip()
