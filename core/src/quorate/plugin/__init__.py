"""The plugin API: the declarations of a plugin, and the objects that the host hands to it.

A plugin imports from here: `from quorate.plugin import Command, hookimpl`. What few plugins need is
in `quorate.plugin.advanced`.
"""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.plugin import keys as keys
    from quorate.plugin.access import Access as Access
    from quorate.plugin.console import Console as Console
    from quorate.plugin.declarations import (
        Cache as Cache,
        CliCommand as CliCommand,
        ColumnFamily as ColumnFamily,
        Command as Command,
        ConfigSection as ConfigSection,
        Controller as Controller,
        Extension as Extension,
        ExtensionPoint as ExtensionPoint,
        GrpcService as GrpcService,
        Items as Items,
        Metric as Metric,
        Query as Query,
        RaftGroup as RaftGroup,
        Timer as Timer,
    )
    from quorate.plugin.hookspecs import Declaration as Declaration
    from quorate.plugin.markers import hookimpl as hookimpl
    from quorate.plugin.node import (
        CacheView as CacheView,
        Caller as Caller,
        Consistency as Consistency,
        Fence as Fence,
        NodeApi as NodeApi,
        ShardRef as ShardRef,
    )
    from quorate.plugin.outcomes import Invalid as Invalid, Rejected as Rejected
    from quorate.plugin.resource import (
        Admission as Admission,
        Checks as Checks,
        Item as Item,
        Life as Life,
        Resource as Resource,
        Serving as Serving,
        Storage as Storage,
        Verb as Verb,
        View as View,
    )
    from quorate.plugin.transaction import (
        Reader as Reader,
        Row as Row,
        RowEvent as RowEvent,
        Txn as Txn,
    )


__all__, __dir__, __getattr__ = lazily(
    __name__,
    {
        "quorate.plugin": "keys",
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
