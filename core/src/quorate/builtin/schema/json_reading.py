"""JSON Schema: whether one schema allows every value that another one allows.

The keywords that constrain a value are compared one by one, as Confluent's registry does; one that
is not known here must be the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import gt, lt
from typing import Any, Final

#: They describe a value, and forbid none.
_ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default"}
    | {"examples", "deprecated", "readOnly", "writeOnly", "format", "contentMediaType"}
)
#: Bounds: a reader's must not be above, or below, a writer's.
_LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_COMPARED: Final = frozenset(
    {*_LEAST, *_MOST, "type", "enum", "const", "required", "properties", "additionalProperties"}
    | {"items", "$ref", "anyOf", "oneOf"}
)
_TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "integer", "string"})
_DEEPEST: Final = 64


def obstacles(reader: Any, writer: Any) -> Iterator[str]:
    """Yield why a reader's schema forbids values that a writer's allows; raises `ValueError`."""
    yield from _Comparison(reader, writer).of(reader, writer, "#", 0)


class _Comparison:
    def __init__(self, reader: Any, writer: Any) -> None:
        self._roots: Final = (reader, writer)
        self._compared: Final[set[tuple[str, str]]] = set()

    def of(self, reader: Any, writer: Any, at: str, depth: int) -> Iterator[str]:
        """Yield the obstacles of two schemas at a place."""
        if depth > _DEEPEST:
            raise ValueError(f"{at} is more than {_DEEPEST} schemas deep")
        references = _reference(reader), _reference(writer)
        if any(references):
            if references in self._compared:
                return
            self._compared.add(references)
            reader, writer = (
                _resolved(root, each)
                for root, each in zip(self._roots, (reader, writer), strict=True)
            )
        reader, writer = _schema(reader, at), _schema(writer, at)
        if not reader or writer == {"not": {}}:
            return
        yield from self._of_values(reader, writer, at)
        yield from self._of_choices(reader, writer, at, depth)
        yield from self._of_members(reader, writer, at, depth)
        for name in sorted(set(reader) - _ANNOTATIONS - _COMPARED):
            if reader[name] != writer.get(name):
                yield f"{name} at {at} is new or another one"

    def _of_values(self, reader: Any, writer: Any, at: str) -> Iterator[str]:
        allowed, given = _types(reader, at), _types(writer, at)
        if missing := given - allowed:
            yield f"type {', '.join(sorted(missing))} at {at} is not allowed"
        values = _values(reader)
        if values is not None:
            written = _values(writer)
            if written is None or any(each not in values for each in written):
                yield f"the values at {at} are fewer"
        for names, narrower in ((_LEAST, gt), (_MOST, lt)):
            for name in names:
                if name in reader and (name not in writer or narrower(reader[name], writer[name])):
                    yield f"{name} at {at} is narrower"

    def _of_choices(self, reader: Any, writer: Any, at: str, depth: int) -> Iterator[str]:
        for name in ("anyOf", "oneOf"):
            if name not in reader or reader[name] == writer.get(name):
                continue
            choices = _list(reader[name], f"{at}/{name}")
            alternatives = _list(writer.get(name, [writer]), f"{at}/{name}")
            for each in alternatives:
                if not any(self._fits(choice, each, at, depth) for choice in choices):
                    yield f"{name} at {at} lacks a choice"
                    break

    def _fits(self, reader: Any, writer: Any, at: str, depth: int) -> bool:
        return next(self.of(reader, writer, at, depth + 1), None) is None

    def _of_members(self, reader: Any, writer: Any, at: str, depth: int) -> Iterator[str]:
        added = set(reader.get("required", ())) - set(writer.get("required", ()))
        known, given = (each.get("properties", {}) for each in (reader, writer))
        if not (isinstance(known, dict) and isinstance(given, dict)):
            raise ValueError(f"properties at {at} is no object")
        for name in sorted(added):
            if not (isinstance(known.get(name), dict) and "default" in known[name]):
                yield f"{name} at {at} is required"
        for name in sorted(known.keys() | given.keys()):
            inner = f"{at}/properties/{name}"
            read = known.get(name, reader.get("additionalProperties", True))
            written = given.get(name, writer.get("additionalProperties", True))
            if written is False:
                continue
            if read is False:
                yield f"{name} at {at} is not allowed"
            elif name not in given and written is True and read not in (True, {}):
                yield f"{name} at {at} is new, and the other schema allows any value for it"
            else:
                yield from self.of(read, written, inner, depth + 1)
        for name in ("additionalProperties", "items"):
            read, written = reader.get(name, True), writer.get(name, True)
            yield from self._of_rest(read, written, f"{at}/{name}", depth)

    def _of_rest(self, read: Any, written: Any, at: str, depth: int) -> Iterator[str]:
        if isinstance(read, list) or isinstance(written, list):
            if read != written:
                yield f"{at} is another list"
        elif read not in (True, {}) and written is not False and read != written:
            yield from self.of(read, written, at, depth + 1)


def _schema(found: Any, at: str) -> Mapping[str, Any]:
    if found is True:
        return {}
    if found is False:
        return {"not": {}}
    if not isinstance(found, dict):
        raise ValueError(f"{at} is neither an object nor a boolean")
    return found


def _reference(found: Any) -> str:
    return str(found["$ref"]) if isinstance(found, dict) and "$ref" in found else ""


def _resolved(root: Any, found: Any) -> Any:
    for _ in range(_DEEPEST):
        reference = _reference(found)
        if not reference:
            return found
        if not reference.startswith("#"):
            raise ValueError(f"{reference} lies outside of the definition")
        found = root
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or name not in found:
                raise ValueError(f"{reference} leads nowhere")
            found = found[name]
    raise ValueError("references lead to each other")


def _types(schema: Mapping[str, Any], at: str) -> frozenset[str]:
    found = schema.get("type")
    if found is None:
        return frozenset() if schema == {"not": {}} else _TYPES
    types = frozenset([found] if isinstance(found, str) else map(str, _list(found, f"{at}/type")))
    if not types <= _TYPES:
        raise ValueError(f"type at {at} is none of JSON")
    return types | {"integer"} if "number" in types else types


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    found = schema.get("enum")
    return found if isinstance(found, list) else None


def _list(found: Any, at: str) -> list[Any]:
    if not isinstance(found, list):
        raise ValueError(f"{at} is no list")
    return found
