"""What callers give: texts, bytes and whole numbers, checked by the names of their parameters."""

from __future__ import annotations

from quorate.client.errors import InvalidError

#: Bytes, or a text that stands for its UTF-8.
Text = str | bytes


def as_bytes(field: str, given: Text) -> bytes:
    """Return the bytes of a text or of bytes; raises `InvalidError` for anything else."""
    if isinstance(given, str):
        try:
            return given.encode()
        except UnicodeEncodeError as error:
            raise InvalidError(field, f"must be a text that UTF-8 can hold: {error}") from None
    if isinstance(given, bytes):
        return given
    raise InvalidError(field, f"must be str or bytes, not {type(given).__name__}")


def as_text(field: str, given: bytes) -> str:
    """Return bytes as a text; raises `InvalidError` if they are no UTF-8."""
    try:
        return given.decode()
    except UnicodeDecodeError as error:
        raise InvalidError(field, f"is no UTF-8, read it as bytes: {error}") from None


class Readable:
    """What has a key and a value, which may be texts."""

    __slots__ = ()

    key: bytes
    value: bytes

    @property
    def name(self) -> str:
        """The key as a text; raises `InvalidError` if it is no UTF-8."""
        return as_text("key", self.key)

    @property
    def text(self) -> str:
        """The value as a text; raises `InvalidError` if it is no UTF-8."""
        return as_text("value", self.value)


def check_whole(**given: int | None) -> None:
    """Raise `InvalidError` for what is no whole number from 0 to 2^63 - 1, or left out."""
    for field, number in given.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int):
            raise InvalidError(field, f"must be a whole number, not {type(number).__name__}")
        if not 0 <= number < 1 << 63:
            raise InvalidError(field, f"must be from 0 to 2^63 - 1, not {number}")
