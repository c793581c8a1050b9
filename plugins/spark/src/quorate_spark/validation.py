"""What is wrong with a command whatever the rows say; it is refused before it is logged."""

from typing import Final, Protocol

from quorate.plugin import Invalid

from quorate_spark.v1.commands_pb2 import BeginLoadCommand

LONGEST_ID: Final = 200


class OfLoad(Protocol):
    """A command or a request that names a load."""

    @property
    def load_id(self) -> str:
        """Which one."""


def check_load_id(command: OfLoad) -> None:
    """Refuse what names no load."""
    size = len(command.load_id.encode())
    if not command.load_id.strip():
        raise Invalid("load_id", "must not be empty")
    if size > LONGEST_ID:
        raise Invalid("load_id", f"must have at most {LONGEST_ID} bytes, not {size}")


def check_token(token: str) -> None:
    """Refuse a page behind what is no load."""
    if len(token.encode()) > LONGEST_ID:
        raise Invalid("page_token", "was not given by a page before")


def check_begin(command: BeginLoadCommand) -> None:
    """Refuse a load that is of no table."""
    check_load_id(command)
    if not command.table:
        raise Invalid("table", "must not be empty")
