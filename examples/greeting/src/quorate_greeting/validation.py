"""Checks of commands that need no rows: a bad command is refused before it is logged."""

from typing import Final

from quorate.plugin import Invalid

from quorate_greeting.v1.commands_pb2 import ForgetCommand, SayHelloBatchCommand, SayHelloCommand

LONGEST_NAME: Final = 100
LONGEST_TTL_S: Final = 365 * 86_400


def check_hello(command: SayHelloCommand, path: str = "") -> None:
    """Refuse a hello with an empty or overlong name, or a lifetime out of bounds."""
    _check_name(f"{path}town", command.town)
    _check_name(f"{path}name", command.name)
    _check_name(f"{path}salutation", command.salutation)
    longest_ms = LONGEST_TTL_S * 1_000
    if not 0 < command.ttl_ms <= longest_ms:
        raise Invalid(f"{path}ttl_ms", f"must be from 1 to {longest_ms}, not {command.ttl_ms}")


def check_hellos(command: SayHelloBatchCommand) -> None:
    """Refuse a batch with an invalid hello, and name its position."""
    for position, hello in enumerate(command.hellos):
        check_hello(hello, f"hellos[{position}].")


def check_forget(command: ForgetCommand) -> None:
    """Refuse a command with an empty or overlong name."""
    _check_name("town", command.town)
    _check_name("name", command.name)


def _check_name(field: str, name: str) -> None:
    if not name.strip():
        raise Invalid(field, "must not be empty")
    if len(name) > LONGEST_NAME:
        raise Invalid(field, f"must have at most {LONGEST_NAME} characters, not {len(name)}")
