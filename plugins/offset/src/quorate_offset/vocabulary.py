"""All words for changing and reading what the plugin keeps: what a client needs to know of it."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.plugin import Command, Query

from quorate_offset.expiry import vocabulary as expiry
from quorate_offset.offsets import vocabulary as offsets
from quorate_offset.subscriptions import vocabulary as subscriptions
from quorate_offset.tenants import vocabulary as tenants

COMMANDS: Final[Sequence[Command[Any]]] = (
    *offsets.COMMANDS,
    *subscriptions.COMMANDS,
    *expiry.COMMANDS,
)
QUERIES: Final[Sequence[Query[Any]]] = (
    *offsets.QUERIES,
    *subscriptions.QUERIES,
    *expiry.QUERIES,
    *tenants.QUERIES,
)
