"""Rows for programs: JSON and YAML from which every value comes back."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

#: Many readers of JSON keep numbers as floats, and round those beyond it.
_EXACT: Final = (1 << 53) - 1
_UNHAD: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_line(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(plain(value), ensure_ascii=False)


def json_text(value: object) -> str:
    """Return a value as JSON on many lines."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False)


def yaml_text(value: object) -> str:
    """Return a value as YAML: blocks of lists and maps, whose leaves are JSON."""
    return "\n".join(_yaml(plain(value)))


def plain(value: object) -> object:
    """Return a value in the terms of JSON.

    Bytes are text, or an object with their base64: a text of the same letters is something else.
    A number that some readers would round is text, and so is one that JSON does not have, in the
    words of protobuf.
    """
    match value:
        case None | bool() | str():
            return value
        case float():
            return value if math.isfinite(value) else _UNHAD[str(value)]
        case int():
            return value if -_EXACT <= value <= _EXACT else str(value)
        case bytes():
            text = text_of(value)
            return {"base64": base64.b64encode(value).decode()} if text is None else text
        case list() | tuple():
            return [plain(each) for each in value]
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
    return str(value)


def fields_of(found: object, names: str) -> dict[str, Any]:
    """Return the attributes of these names, which stand for columns."""
    return {name: getattr(found, name) for name in names.split()}


def text_of(value: bytes) -> str | None:
    """Return bytes as text; None if they are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _yaml(value: object) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _entry(f"{_scalar(name)}:", each)
    elif isinstance(value, list) and value:
        for each in value:
            first, *rest = _yaml(each)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield _scalar(value)


def _scalar(value: object) -> str:
    """Return a value as JSON that every release of YAML reads as JSON does.

    Characters that it does not print are escaped: some of them end a line of YAML.
    """
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "." not in text:
        return text.replace("e", ".0e")
    return "".join(each if each.isprintable() else _escape(ord(each)) for each in text)


def _escape(character: int) -> str:
    return f"\\u{character:04x}" if character < 1 << 16 else f"\\U{character:08x}"


def _entry(name: str, value: object) -> Iterator[str]:
    lines = list(_yaml(value))
    if isinstance(value, dict | list) and value:
        yield name
        yield from (f"  {line}" for line in lines)
    else:
        yield f"{name} {lines[0]}"
