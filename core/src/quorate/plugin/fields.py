"""Whether the fields of a declaration hold what their annotations promise."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from google.protobuf.message import Message
from pydantic import BaseModel

_VALUES: Final[dict[str, type[object]]] = {"str": str, "int": int, "bool": bool}
_CLASSES: Final[dict[str, type[object]]] = {
    "type[M]": Message,
    "type[Message]": Message,
    "type[BaseModel]": BaseModel,
    "type[object]": object,
}


def misfits(declaration: Any) -> Iterator[tuple[str, str]]:
    """Yield each field that was given something else, as what is wrong and what to give.

    Types are not looked into: that the items of a tuple fit is left to the type checker.
    """
    kind = type(declaration).__name__
    for field in fields(declaration):
        wanted, value = str(field.type), getattr(declaration, field.name)
        if not _fits(wanted, value):
            yield f"a {kind} has {field.name}={value!r}", f"give it {field.name}: {wanted}"


def _fits(wanted: str, value: object) -> bool:
    if value is None:
        return wanted == "object" or wanted.endswith("| None")
    wanted = wanted.removesuffix(" | None")
    if wanted.startswith("Callable["):
        return callable(value)
    if wanted.startswith("tuple["):
        return isinstance(value, tuple)
    if wanted in _CLASSES:
        if not isinstance(value, type) or not issubclass(value, _CLASSES[wanted]):
            return False
        # `Message` itself describes nothing.
        return not issubclass(value, Message) or value.DESCRIPTOR is not None
    return isinstance(value, _VALUES.get(wanted, object))
