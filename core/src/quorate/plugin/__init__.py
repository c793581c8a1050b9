"""Everything that a plugin says to the host, and what the host hands to a plugin.

A plugin imports from here alone: `from quorate.plugin import Command, hookimpl`.
"""

from quorate.plugin import keys
from quorate.plugin.batches import answer_each, read_each, still_due
from quorate.plugin.console import Console
from quorate.plugin.declarations import (
    CONSTANT_KEY,
    METADATA_GROUP,
    Access,
    Cache,
    CliCommand,
    Column,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Items,
    Metric,
    Query,
    RaftGroup,
    Removal,
    Table,
    Timer,
    constant_key,
)
from quorate.plugin.markers import hookimpl
from quorate.plugin.node import (
    Answers,
    CacheView,
    Consistency,
    NodeApi,
    SessionRef,
    ShardRef,
    WatchedEvent,
)
from quorate.plugin.outcomes import Invalid, Rejected
from quorate.plugin.transaction import (
    EmittedEvent,
    Event,
    Reader,
    Row,
    RowEvent,
    Txn,
    UndeclaredFamilyError,
)

__all__ = [
    "CONSTANT_KEY",
    "METADATA_GROUP",
    "Access",
    "Answers",
    "Cache",
    "CacheView",
    "CliCommand",
    "Column",
    "ColumnFamily",
    "Command",
    "ConfigSection",
    "Consistency",
    "Console",
    "Controller",
    "DataRoute",
    "EmittedEvent",
    "Event",
    "Extension",
    "ExtensionPoint",
    "GrpcService",
    "Invalid",
    "Items",
    "Metric",
    "NodeApi",
    "Query",
    "RaftGroup",
    "Reader",
    "Rejected",
    "Removal",
    "Row",
    "RowEvent",
    "SessionRef",
    "ShardRef",
    "Table",
    "Timer",
    "Txn",
    "UndeclaredFamilyError",
    "WatchedEvent",
    "answer_each",
    "constant_key",
    "hookimpl",
    "keys",
    "read_each",
    "still_due",
]
