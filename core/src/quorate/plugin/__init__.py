"""The plugin API: the declarations of a plugin, and the objects that the host hands to it.

A plugin imports from here: `from quorate.plugin import Command, hookimpl`. What few plugins need is
in `quorate.plugin.advanced`.
"""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.plugin import keys
    from quorate.plugin.access import Access
    from quorate.plugin.console import Console
    from quorate.plugin.declarations import (
        Cache,
        CliCommand,
        ColumnFamily,
        Command,
        ConfigSection,
        Controller,
        Extension,
        ExtensionPoint,
        GrpcService,
        Items,
        Metric,
        Query,
        RaftGroup,
        Timer,
    )
    from quorate.plugin.hookspecs import Declaration
    from quorate.plugin.markers import hookimpl
    from quorate.plugin.node import CacheView, Caller, Consistency, Fence, NodeApi, ShardRef
    from quorate.plugin.outcomes import Invalid, Rejected
    from quorate.plugin.resource import (
        Admission,
        Checks,
        Item,
        Life,
        Resource,
        Serving,
        Storage,
        Verb,
        View,
    )
    from quorate.plugin.transaction import Reader, Row, RowEvent, Txn

__all__ = [
    "Access",
    "Admission",
    "Cache",
    "CacheView",
    "Caller",
    "Checks",
    "CliCommand",
    "ColumnFamily",
    "Command",
    "ConfigSection",
    "Consistency",
    "Console",
    "Controller",
    "Declaration",
    "Extension",
    "ExtensionPoint",
    "Fence",
    "GrpcService",
    "Invalid",
    "Item",
    "Items",
    "Life",
    "Metric",
    "NodeApi",
    "Query",
    "RaftGroup",
    "Reader",
    "Rejected",
    "Resource",
    "Row",
    "RowEvent",
    "Serving",
    "ShardRef",
    "Storage",
    "Timer",
    "Txn",
    "Verb",
    "View",
    "hookimpl",
    "keys",
]

__getattr__ = lazily(
    __name__,
    {
        "quorate.plugin.access": "Access",
        "quorate.plugin.console": "Console",
        "quorate.plugin.declarations": (
            "Cache CliCommand ColumnFamily Command ConfigSection Controller Extension "
            "ExtensionPoint GrpcService Items Metric Query RaftGroup Timer"
        ),
        "quorate.plugin.hookspecs": "Declaration",
        "quorate.plugin.markers": "hookimpl",
        "quorate.plugin.node": "CacheView Caller Consistency Fence NodeApi ShardRef",
        "quorate.plugin.outcomes": "Invalid Rejected",
        "quorate.plugin.resource": "Admission Checks Item Life Resource Serving Storage Verb View",
        "quorate.plugin.transaction": "Reader Row RowEvent Txn",
    },
)


def __dir__() -> list[str]:
    return __all__
