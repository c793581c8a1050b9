"""Values of columns that a row holds in another form: unsigned numbers, and names of choices."""

from collections.abc import Mapping
from typing import Final

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from quorate.plugin import Invalid

_LARGEST: Final = (1 << 63) - 1
LARGEST_UINT32: Final = (1 << 32) - 1


def unsigned(column: str, value: int | None, largest: int = _LARGEST) -> int:
    """Return a number as an unsigned field holds it; zero stands for null."""
    if value is not None and not 0 <= value <= largest:
        raise Invalid(column, f"must be from 0 to {largest}, not {value}")
    return value or 0


class Choice:
    """A column with the names of an enumeration, without what they all begin with."""

    def __init__(self, column: str, values: EnumTypeWrapper) -> None:
        self._column: Final = column
        begin = len(values.Name(0).removesuffix("UNSPECIFIED"))
        self._names: Final[Mapping[int, str]] = {
            number: name[begin:] for name, number in values.items() if number
        }
        self._constants: Final = {name: values.Name(number) for number, name in self._names.items()}

    def constant(self, name: str | None) -> str | None:
        """Return the constant of a name, as a field takes it; None stands for null."""
        if name is None:
            return None
        constant = self._constants.get(name)
        if constant is None:
            reason = f"must be null or one of {', '.join(self._constants)}, not {name!r}"
            raise Invalid(self._column, reason)
        return constant

    def name(self, number: int) -> str | None:
        """Return the name of a number; None for zero, and for one that is not known here."""
        return self._names.get(number)
