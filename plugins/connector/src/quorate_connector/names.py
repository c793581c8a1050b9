"""What may be the name of a tenant, a connector or a worker; what may not is refused."""

import re
from typing import Final

from quorate.plugin import Invalid

LONGEST_NAME: Final = 128
#: Of a worker, in bytes.
LONGEST_IDENTITY: Final = 512

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def check_name(field: str, name: str) -> None:
    """Refuse what is no name of a tenant or a connector."""
    if not name:
        raise Invalid(field, "must not be empty")
    if len(name) > LONGEST_NAME:
        raise Invalid(field, f"must have at most {LONGEST_NAME} characters, not {len(name)}")
    if not _NAME.fullmatch(name):
        raise Invalid(field, "must be letters, digits, '.', '_' and '-'")


def check_identity(field: str, identity: str) -> None:
    """Refuse what no worker can be called."""
    check_text(field, identity, LONGEST_IDENTITY)


def check_text(field: str, text: str, longest: int) -> None:
    """Refuse text that is empty, too long in bytes, or has control characters."""
    if not text:
        raise Invalid(field, "must not be empty")
    if len(text) * 4 > longest and (size := len(text.encode())) > longest:
        raise Invalid(field, f"must have at most {longest} bytes, not {size}")
    if _CONTROL.search(text):
        raise Invalid(field, "must not have control characters")
