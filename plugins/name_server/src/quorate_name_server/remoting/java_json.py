"""JSON as RocketMQ's Java writes and reads it: numeric keys of maps are unquoted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final

#: A string, which is kept, or a bare key. An unterminated string matches too, and only once.
_BARE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|(?<=[{,])(\s*)(-?\d+)(?=\s*:)', re.DOTALL)


class BodyError(Exception):
    """A body is invalid."""


def loads(body: bytes | str, *, strict: bool = True) -> Any:
    """Read JSON with optionally unquoted numeric keys; raises `BodyError`.

    Unless `strict`, strings may have control characters.
    """
    read = partial(json.loads, parse_constant=_refuse, strict=strict)
    try:
        text = body if isinstance(body, str) else body.decode()
        try:
            return read(text)
        except json.JSONDecodeError:
            return read(_BARE.sub(_quoted, text))
    except (ValueError, RecursionError) as error:
        raise BodyError(f"not JSON: {error}"[:200]) from None


def dumps(value: Any) -> bytes:
    """Write JSON as Java's name server does: keys are sorted, and numeric keys unquoted."""
    return _write(value, "{}:".format, encode_basestring).encode()


def dumps_standard(value: Any) -> bytes:
    """Write standard JSON in ASCII, with numeric keys quoted."""
    return _write(value, '"{}":'.format, encode_basestring_ascii).encode()


def _write(value: Any, number: Any, text: Any) -> str:
    if isinstance(value, str):
        return str(text(value))
    if isinstance(value, Mapping):
        members = (
            (number(key) if isinstance(key, int) else f"{text(key)}:") + _write(each, number, text)
            for key, each in sorted(value.items())
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_write(each, number, text) for each in value]) + "]"
    return json.dumps(value)


def _quoted(found: re.Match[str]) -> str:
    space, key = found.groups()
    return found[0] if key is None else f'{space}"{key}"'


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")
