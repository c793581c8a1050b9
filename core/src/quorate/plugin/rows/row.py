"""A row as a class: a typed front to its message, which holds all that the row says.

Plain fields are read from the message and written into it; what a newer release has stored besides
stays in it. Lists, maps and rows within are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Final,
    NamedTuple,
    ParamSpec,
    TypeVar,
    dataclass_transform,
)

from google.protobuf.message import Message

from quorate.plugin.nearness import meant
from quorate.plugin.rows.shapes import MISSING, PLAIN, Field, Misdeclared, shape_of
from quorate.plugin.transaction import Txn

if TYPE_CHECKING:
    from quorate.plugin.access import Right

P = ParamSpec("P")
A = TypeVar("A")
F = TypeVar("F", bound="Row")

#: The module with the generated messages, below the package of the classes.
MODULE: Final = "v1.rows_pb2"

_messages: Final[dict[type, tuple[Any, Set[str], Set[str]]]] = {}


class _Slotted(type):
    """Gives every row class no attributes beside its fields, so that a wrong name is refused."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **more: Any
    ) -> Any:
        namespace.setdefault("__slots__", ())
        return super().__new__(mcs, name, bases, namespace, **more)


@dataclass_transform(kw_only_default=True)
class Row(metaclass=_Slotted):
    """The base of every row class, and of what stands within rows.

    Fields are written as those of a dataclass. A row that a verb is given is its own: assign to it
    and return it.
    """

    __slots__ = ("_held", "_message")

    __row_defaults__: ClassVar[dict[str, Any]] = {}
    __row_plugin__: ClassVar[Any] = None
    __row_verbs__: ClassVar[list[VerbOf]]
    __row_conditions__: ClassVar[list[Callable[..., bool]]]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        hints = vars(cls).get("__annotations__", {})
        names = [name for name, hint in hints.items() if "ClassVar" not in str(hint)]
        cls.__row_defaults__ = {name: vars(cls).get(name, MISSING) for name in names}
        cls.__row_verbs__, cls.__row_conditions__ = [], []
        for name in names:
            setattr(cls, name, _Unread(name))

    def __init__(self, **given: Any) -> None:
        cls = type(self)
        kind, known, needed = _made_of(cls)
        if not given.keys() <= known or not needed <= given.keys():
            raise _wrong(cls, given, known, needed)
        self._held: dict[str, Any] = {}
        self._message = kind(**{name: plain(value) for name, value in given.items()})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and message_of(self) == message_of(other)

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in shape_of(type(self)))
        return f"{type(self).__name__}({said})"

    @classmethod
    def verb(
        cls: type[F], *, access: Right = "write", level: int = 1
    ) -> Callable[[Callable[Concatenate[Txn, F, P], A]], Callable[Concatenate[Txn, F, P], A]]:
        """Declare a verb of a resource: a function of a transaction, a row and what callers give.

        It makes its checks before it writes, and raises `Rejected`. The row that it returns is
        written and answered; None leaves the row as it is.
        """

        def declare(
            function: Callable[Concatenate[Txn, F, P], A],
        ) -> Callable[Concatenate[Txn, F, P], A]:
            cls.__row_verbs__.append(VerbOf(function, access, level))
            return function

        return declare

    @classmethod
    def condition(
        cls: type[F], function: Callable[Concatenate[F, P], bool]
    ) -> Callable[Concatenate[F, P], bool]:
        """Declare a further condition of lists: a function of a row and one keyword parameter."""
        cls.__row_conditions__.append(function)
        return function


class VerbOf(NamedTuple):
    """A declared verb."""

    function: Callable[..., Any]
    access: Right
    level: int

    @property
    def name(self) -> str:
        """Its name as methods are named."""
        return camel(self.function.__name__)


def camel(name: str) -> str:
    """Return a name with underscores in the form of messages and methods."""
    return "".join(part.capitalize() for part in name.split("_"))


def message_type(cls: type[Row]) -> Any:
    """Return the generated message of a row class; raises `Misdeclared` if there is none."""
    return _made_of(cls)[0]


def _made_of(cls: type[Row]) -> tuple[Any, Set[str], Set[str]]:
    """Return the message of a class, the names of its fields, and of those without a default."""
    found = _messages.get(cls)
    if found is None:
        shape = shape_of(cls)
        kind = getattr(generated(cls.__module__), cls.__name__, None)
        held = {} if kind is None else kind.DESCRIPTOR.fields_by_name
        for name, each in shape.items():
            if name not in held:
                raise Misdeclared(
                    f"{each.where}: the generated code lacks {cls.__name__}.{name}",
                    "run `quorate plugin protos` on the folder of the plugin",
                )
        needed = frozenset(name for name, each in shape.items() if each.default is MISSING)
        found = _messages[cls] = kind, frozenset(shape), needed
    return found


def _wrong(cls: type, given: Any, known: Set[str], needed: Set[str]) -> TypeError:
    for name in given.keys() - known:
        hint = meant(name, known, f"it has {', '.join(sorted(known))}")
        return TypeError(f"{cls.__name__} has no field {name!r}: {hint}")
    return TypeError(f"{cls.__name__} needs {', '.join(sorted(needed - given.keys()))}")


def generated(module: str) -> Any:
    """Return the module with the messages of the classes of a module."""
    name = f"{module.partition('.')[0]}.{MODULE}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise Misdeclared(
            f"the code of the classes in {module} is not generated: there is no {name}",
            "run `quorate plugin protos` on the folder of the plugin",
        ) from error


def message_of(row: Any) -> Any:
    """Return the message of a row, with all that was written into its lists and maps."""
    message = row._message
    for name, value in row._held.items():
        if isinstance(value, Row):
            message_of(value)
        else:
            _replace(message, name, value)
    return message


def row_of(cls: type[F], message: Message) -> F:
    """Return the row of a message, which becomes its own."""
    row = cls.__new__(cls)
    row._message, row._held = message, {}
    return row


def plain(value: Any) -> Any:
    """Return a value of a row as its message has it."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, Row):
        return message_of(value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def reader_of(fields: Mapping[str, Field]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that reads these fields of a message, as a verb takes them."""
    readers = [
        (
            name,
            partial(_read, each)
            if each.many or each.kind not in PLAIN or each.present
            else attrgetter(name),
        )
        for name, each in fields.items()
    ]
    return lambda message: {name: read(message) for name, read in readers}


_SIMPLE: Final = frozenset({str, int, bool, bytes, float, type(None)})


class _Unread:
    """Stands for a field until the class is read: its annotations may name what comes below it."""

    def __init__(self, name: str) -> None:
        self._name: Final = name

    def __get__(self, row: Row | None, owner: type[Row]) -> Any:
        if row is None:
            return self
        _prepare(owner)
        return getattr(row, self._name)

    def __set__(self, row: Row, value: Any) -> None:
        _prepare(type(row))
        setattr(row, self._name, value)


def _prepare(cls: type[Row]) -> None:
    """Give a class the property of each field."""
    for name, each in shape_of(cls).items():
        setattr(cls, name, _property(each))


def _property(field: Field) -> property:
    name = field.name
    if field.many or field.nested:
        return property(_holder(field), _writer(field))
    if field.chosen or field.present:
        return property(lambda row: _read(field, row._message), _writer(field))

    def write(row: Any, value: Any) -> None:
        setattr(row._message, name, value)

    # Without a frame of Python's own: a handler reads many.
    return property(attrgetter(f"_message.{name}"), write)


def _holder(field: Field) -> Callable[[Any], Any]:
    name = field.name

    def read(row: Any) -> Any:
        found = row._held.get(name)
        if found is None:
            found = _read(field, row._message)
            if found is not None:
                row._held[name] = found
        return found

    return read


def _writer(field: Field) -> Callable[[Any, Any], None]:
    def write(row: Any, value: Any) -> None:
        row._held.pop(field.name, None)
        if value is None and not field.optional:
            raise TypeError(f"{field.name} is a {field.wire}, not None")
        _replace(row._message, field.name, value)

    return write


def _read(field: Field, message: Any) -> Any:
    if field.present and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    kind = field.kind
    if field.many == "dict":
        return {key: _made(field, kind, each) for key, each in value.items()}
    if field.many:
        return [_made(field, kind, each) for each in value]
    if field.chosen and field.optional and not value:
        return None
    return _made(field, kind, value)


def _made(field: Field, kind: Any, value: Any) -> Any:
    if field.nested:
        return row_of(kind, value)
    return kind(value) if field.chosen else value


def _replace(message: Any, name: str, value: Any) -> None:
    """Write a field of any kind; its former value may be among the new one's."""
    made = None if value is None else type(message)(**{name: plain(value)})
    message.ClearField(name)
    if made is not None:
        message.MergeFrom(made)
