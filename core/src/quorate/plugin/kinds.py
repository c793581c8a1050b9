"""Declarations of one kind among those of all kinds."""

from typing import Final, Generic, Protocol, TypeVar

D = TypeVar("D")


class Declarations(Protocol):
    """A frozen list of declarations of all kinds."""

    @property
    def all(self) -> tuple[object, ...]:
        """The declarations, in the order in which they are declared."""


class OfKind(Generic[D]):
    """A property: the declarations of a kind, in their order."""

    def __init__(self, kind: type[D]) -> None:
        self._kind: Final = kind

    def __get__(self, declarations: Declarations, _: object) -> tuple[D, ...]:
        return tuple(each for each in declarations.all if isinstance(each, self._kind))
