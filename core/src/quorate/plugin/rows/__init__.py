"""Rows as classes: a plugin is one object, a class is a row, and a function is a verb.

`quorate plugin protos` writes the `.proto` file of the classes, and generates its code.
"""

from quorate.plugin.rows.plugin import Plugin
from quorate.plugin.rows.resources import carry_out, find, remove, resource_of, rows_of, write
from quorate.plugin.rows.row import Row, message_of, row_of
from quorate.plugin.rows.shapes import Misdeclared
from quorate.plugin.rows.types import (
    Choice,
    Filter,
    Internal,
    Key,
    Most,
    Name,
    Pattern,
    Range,
    Text,
)

__all__ = [
    "Choice",
    "Filter",
    "Internal",
    "Key",
    "Misdeclared",
    "Most",
    "Name",
    "Pattern",
    "Plugin",
    "Range",
    "Row",
    "Text",
    "carry_out",
    "find",
    "message_of",
    "remove",
    "resource_of",
    "row_of",
    "rows_of",
    "write",
]
