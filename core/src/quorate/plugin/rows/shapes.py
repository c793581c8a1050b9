"""The fields of a row class, read from its annotations once."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from quorate.plugin.rows.types import (
    LONGEST_BYTES,
    LONGEST_TEXT,
    MOST_ITEMS,
    Bound,
    Choice,
    IsName,
    Most,
    Pattern,
    Range,
    Role,
    Text,
)

#: The protobuf type of each plain type.
PLAIN: Final[Mapping[type, str]] = {
    str: "string",
    bytes: "bytes",
    int: "int64",
    float: "double",
    bool: "bool",
}
MISSING: Final = object()
#: What requests say beside the fields of a row, and what a row class itself has.
_TAKEN: Final = frozenset(
    {"prefix", "page_size", "page_token", "stale", "min_revision", "update_mask"}
    | {"expected_revision", "missing_ok", "deleting_at_ms", "timeout_s", "verb", "condition"}
)
_HELD: Final = (
    "use str, bytes, int, float, bool, a Choice, a Row, a list or dict of one, or `| None`"
)


class Misdeclared(Exception):
    """A class that cannot be a row, and how to repair it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what: Final = what
        self.fix: Final = fix


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a row, or a parameter of a verb."""

    name: str
    #: The type of the value, of the items of a list, or of the values of a map.
    kind: Any
    #: "", "list" or "dict".
    many: str = ""
    #: Of a map: the type of its keys.
    map_key: Any = str
    optional: bool = False
    role: Role | None = None
    default: Any = MISSING
    #: Bound the value, each item of a list, or each value of a map.
    bounds: tuple[Bound, ...] = ()
    #: Bound the list or map itself.
    outer: tuple[Bound, ...] = ()
    #: Bound the keys of a map.
    key_bounds: tuple[Bound, ...] = ()
    #: `path:line`, and what is written above it.
    where: str = ""
    meaning: str = ""

    @property
    def nested(self) -> bool:
        """Whether its values are rows themselves."""
        return self.kind not in PLAIN and not self.chosen

    @property
    def chosen(self) -> bool:
        """Whether its values are choices."""
        return isinstance(self.kind, type) and issubclass(self.kind, Choice)

    @property
    def present(self) -> bool:
        """Whether the message tells an absent value from an empty one."""
        return self.optional and not self.many and not self.chosen

    @property
    def wire(self) -> str:
        """Its type as a `.proto` file has it."""
        kind = PLAIN.get(self.kind) or self.kind.__name__
        if self.many == "dict":
            return f"map<{PLAIN[self.map_key]}, {kind}>"
        if self.many:
            return f"repeated {kind}"
        return f"optional {kind}" if self.present and not self.nested else kind


@cache
def shape_of(cls: Any) -> Mapping[str, Field]:
    """Return the fields of a row class by name; raises `Misdeclared`."""
    lines = _Lines(cls)
    try:
        hints = get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise Misdeclared(
            f"{lines.of('')}: {cls.__name__}: {error}", "define or import it above the class"
        ) from error
    defaults: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        defaults.update(vars(base).get("__row_defaults__", {}))
    return {
        name: _field(cls.__name__, name, hints[name], defaults[name], lines) for name in defaults
    }


@cache
def parameters_of(function: Callable[..., Any], skip: int) -> Mapping[str, Field]:
    """Return the keyword-only parameters of a verb or condition; raises `Misdeclared`."""
    lines = _Lines(function)
    hints = get_type_hints(function, include_extras=True)
    name = function.__name__
    found = {}
    for position, each in enumerate(inspect.signature(function).parameters.values()):
        if position < skip:
            continue
        if each.kind is not each.KEYWORD_ONLY:
            raise Misdeclared(
                f"{lines.of('')}: {name} takes {each.name!r} by its position",
                "let a `*` stand before the parameters that callers give",
            )
        if each.name not in hints:
            raise Misdeclared(
                f"{lines.of('')}: {name} does not say the type of {each.name!r}", "annotate it"
            )
        default = MISSING if each.default is each.empty else each.default
        found[each.name] = _field(name, each.name, hints[each.name], default, lines)
    return found


def _field(owner: str, name: str, hint: Any, default: Any, lines: _Lines) -> Field:
    where = lines.of(name)
    said = f"{where}: {owner}.{name}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise Misdeclared(f"{said} cannot name a field", "use small letters, digits and _")
    if name in _TAKEN:
        raise Misdeclared(f"{said} has a name that requests or classes need", "rename it")
    whole, metadata = _split(hint)
    role = next((each for each in metadata if isinstance(each, Role)), None)
    optional = type(None) in get_args(whole) and get_origin(whole) in (Union, types.UnionType)
    if optional:
        [inner, *more] = [each for each in get_args(whole) if each is not type(None)]
        if more:
            raise Misdeclared(f"{said}: no message holds {whole}", _HELD)
        whole, inner_metadata = _split(inner)
        metadata = (*metadata, *inner_metadata)
    origin, arguments = get_origin(whole), get_args(whole)
    many, map_key, key_metadata, outer = "", str, (), ()
    kind: Any = whole
    if origin in (list, dict):
        many, outer = origin.__name__, metadata
        kind, metadata = _split(arguments[-1])
        if many == "dict":
            map_key, key_metadata = _split(arguments[0])
    made = Field(
        name=name,
        kind=kind,
        many=many,
        map_key=map_key,
        optional=optional,
        role=role,
        default=default,
        bounds=_bounds(metadata, kind),
        outer=_bounds(outer, origin) if many else (),
        key_bounds=_bounds(key_metadata, map_key) if many == "dict" else (),
        where=where,
        meaning=lines.above(name),
    )
    _check(said, made)
    return made


def _check(said: str, field: Field) -> None:
    kind = field.kind
    if kind not in PLAIN and not (
        isinstance(kind, type) and (issubclass(kind, Choice) or hasattr(kind, "__row_defaults__"))
    ):
        raise Misdeclared(f"{said}: no message holds {getattr(kind, '__name__', kind)}", _HELD)
    if field.many == "dict" and field.map_key not in (str, int):
        raise Misdeclared(f"{said}: a map has keys of text or int", "use dict[str, ...]")
    if field.many and field.optional:
        raise Misdeclared(
            f"{said}: a list or map is empty where it is absent", "leave `| None` out"
        )
    if field.role is Role.KEY and (field.many or field.optional or kind not in (str, int, bytes)):
        raise Misdeclared(f"{said} is a part of the key", "let it be a str, bytes or int")
    if field.role is Role.KEY and field.default is not MISSING:
        raise Misdeclared(f"{said} is a part of the key and has a default", "leave it out")
    if field.role is Role.FILTER and field.nested:
        raise Misdeclared(f"{said}: a filter compares plain values", "leave Filter out")
    zero = None if field.optional else {"list": [], "dict": {}}.get(field.many, MISSING)
    if zero is MISSING and kind in PLAIN:
        zero = kind()
    if field.default is not MISSING and (
        field.default != zero or type(field.default) is not type(zero)
    ):
        other = "none" if zero is MISSING else repr(zero)
        raise Misdeclared(
            f"{said} has the default {field.default!r}, and rows and callers without it mean "
            f"{'nothing' if zero is MISSING else other}",
            f"let its default be {other}, or let it be `| None = None` and decide in code",
        )


def _split(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without its annotations, and them."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        return inner, tuple(metadata)
    return hint, ()


def _bounds(metadata: tuple[Any, ...], kind: Any) -> tuple[Bound, ...]:
    given = tuple(each for each in metadata if isinstance(each, Bound))
    if given:
        return given
    if kind is str:
        return (Most(LONGEST_TEXT),)
    if kind is bytes:
        return (Most(LONGEST_BYTES),)
    return (Most(MOST_ITEMS),) if kind in (list, dict) else ()


class _Lines:
    """Where the fields of a class, or the parameters of a function, are written."""

    def __init__(self, owner: Any) -> None:
        try:
            self._lines, self._first = inspect.getsourcelines(owner)
            self._file = inspect.getsourcefile(owner) or "?"
        except (OSError, TypeError):
            self._lines, self._first, self._file = [], 0, owner.__module__

    def of(self, name: str) -> str:
        """Return `path:line` of a name; of the owner where it is inherited."""
        return f"{self._file}:{self._first + max(self._index(name), 0)}"

    def above(self, name: str) -> str:
        """Return the text of the `#:` comments above a field."""
        at, found = self._index(name), list[str]()
        while at > 0 and self._lines[at - 1].strip().startswith("#:"):
            at -= 1
            found.insert(0, self._lines[at].strip().removeprefix("#:").strip())
        return " ".join(found)

    def _index(self, name: str) -> int:
        wanted = re.compile(rf"\b{re.escape(name)}\s*:") if name else None
        if wanted is None:
            return 0
        return next((at for at, line in enumerate(self._lines) if wanted.search(line)), -1)


def place_of(cls: Any) -> str:
    """Return the `path:line` of a class."""
    return _Lines(cls).of("")


def example_of(field: Field, number: int) -> Any:
    """Return a value that a field may hold, as the messages have it."""
    for bound in field.bounds:
        if isinstance(bound, Pattern):
            return bound.example
        if isinstance(bound, Range):
            return field.kind(bound.low)
        if isinstance(bound, IsName | Text):
            return f"{field.name[:8]}{number}".replace("_", "-")[: getattr(bound, "longest", 99)]
    if field.chosen:
        return int(next(iter(field.kind)))
    text = "text" * number
    return {str: text, bytes: text.encode(), int: number, float: 0.5, bool: True}[field.kind]
