"""The plugin API: the declarations of a plugin, and the objects that the host hands to it.

A plugin imports from here alone: `from quorate.plugin import Command, hookimpl`.
"""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.http1.messages import HttpAnswer, HttpHandler, HttpRequest
    from quorate.http2.grpc.context import CallContext
    from quorate.plugin import keys
    from quorate.plugin.access import Access, Grant, cluster_place, tenant_place
    from quorate.plugin.batches import (
        answer_each,
        read_each,
        read_range,
        read_spliced,
        read_values,
        still_due,
    )
    from quorate.plugin.console import Console, Demo, DemoScene
    from quorate.plugin.declarations import (
        CONSTANT_KEY,
        METADATA_GROUP,
        Alert,
        Cache,
        CliCommand,
        Column,
        ColumnFamily,
        ColumnLoad,
        Command,
        ConfigSection,
        ConsoleAction,
        ConsolePage,
        Controller,
        Extension,
        ExtensionPoint,
        FileLoad,
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
    from quorate.plugin.fences import FENCE_NAMES, FenceNames
    from quorate.plugin.hookspecs import Declaration
    from quorate.plugin.invalid_items import CheckedItems, propose_valid, split_invalid
    from quorate.plugin.markers import hookimpl
    from quorate.plugin.node import (
        Answers,
        CacheView,
        Caller,
        ClusterStatus,
        Consistency,
        Fence,
        NodeApi,
        OrderedCommands,
        SessionRef,
        ShardAnswers,
        ShardRef,
        ShardStatus,
        WatchedEvent,
    )
    from quorate.plugin.outcomes import Invalid, NotProposedError, OutcomeUnknownError, Rejected
    from quorate.plugin.ports import OpenPort, ServicePort
    from quorate.plugin.resource import (
        Remake,
        Resource,
        Stored,
        TenantCascade,
        TenantRows,
        Verb,
        find_row,
        get_row,
        remove_row,
        write_row,
    )
    from quorate.plugin.services import Stub, generic_handler
    from quorate.plugin.transaction import (
        EmittedEvent,
        Event,
        Reader,
        Row,
        RowEvent,
        Splice,
        Txn,
        UndeclaredFamilyError,
    )
    from quorate.plugin.updates import Updates, updated


__all__ = [
    "CONSTANT_KEY",
    "FENCE_NAMES",
    "METADATA_GROUP",
    "Access",
    "Alert",
    "Answers",
    "Cache",
    "CacheView",
    "CallContext",
    "Caller",
    "CheckedItems",
    "CliCommand",
    "ClusterStatus",
    "Column",
    "ColumnFamily",
    "ColumnLoad",
    "Command",
    "ConfigSection",
    "Consistency",
    "Console",
    "ConsoleAction",
    "ConsolePage",
    "Controller",
    "Declaration",
    "Demo",
    "DemoScene",
    "EmittedEvent",
    "Event",
    "Extension",
    "ExtensionPoint",
    "Fence",
    "FenceNames",
    "FileLoad",
    "Grant",
    "GrpcService",
    "HttpAnswer",
    "HttpHandler",
    "HttpRequest",
    "Invalid",
    "Items",
    "Metric",
    "NodeApi",
    "NotProposedError",
    "OpenPort",
    "OrderedCommands",
    "OutcomeUnknownError",
    "Query",
    "RaftGroup",
    "Reader",
    "Rejected",
    "Remake",
    "Removal",
    "Resource",
    "Row",
    "RowEvent",
    "ServicePort",
    "SessionRef",
    "ShardAnswers",
    "ShardRef",
    "ShardStatus",
    "Splice",
    "Stored",
    "Stub",
    "Table",
    "TenantCascade",
    "TenantRows",
    "Timer",
    "Txn",
    "UndeclaredFamilyError",
    "Updates",
    "Verb",
    "WatchedEvent",
    "answer_each",
    "cluster_place",
    "constant_key",
    "find_row",
    "generic_handler",
    "get_row",
    "hookimpl",
    "keys",
    "propose_valid",
    "read_each",
    "read_range",
    "read_spliced",
    "read_values",
    "remove_row",
    "split_invalid",
    "still_due",
    "tenant_place",
    "updated",
    "write_row",
]

__getattr__ = lazily(
    __name__,
    {
        "quorate.http1.messages": "HttpAnswer HttpHandler HttpRequest",
        "quorate.http2.grpc.context": "CallContext",
        "quorate.plugin.access": "Access Grant cluster_place tenant_place",
        "quorate.plugin.batches": (
            "answer_each read_each read_range read_spliced read_values still_due"
        ),
        "quorate.plugin.console": "Console Demo DemoScene",
        "quorate.plugin.declarations": (
            "CONSTANT_KEY METADATA_GROUP Alert Cache CliCommand Column ColumnFamily "
            "ColumnLoad Command ConfigSection ConsoleAction ConsolePage Controller Extension "
            "ExtensionPoint FileLoad GrpcService Items Metric Query RaftGroup Removal Table "
            "Timer constant_key"
        ),
        "quorate.plugin.fences": "FENCE_NAMES FenceNames",
        "quorate.plugin.hookspecs": "Declaration",
        "quorate.plugin.invalid_items": "CheckedItems propose_valid split_invalid",
        "quorate.plugin.markers": "hookimpl",
        "quorate.plugin.node": (
            "Answers CacheView Caller ClusterStatus Consistency Fence NodeApi OrderedCommands "
            "SessionRef ShardAnswers ShardRef ShardStatus WatchedEvent"
        ),
        "quorate.plugin.outcomes": "Invalid NotProposedError OutcomeUnknownError Rejected",
        "quorate.plugin.ports": "OpenPort ServicePort",
        "quorate.plugin.resource": (
            "Remake Resource Stored TenantCascade TenantRows Verb find_row get_row remove_row "
            "write_row"
        ),
        "quorate.plugin.services": "Stub generic_handler",
        "quorate.plugin.transaction": (
            "EmittedEvent Event Reader Row RowEvent Splice Txn UndeclaredFamilyError"
        ),
        "quorate.plugin.updates": "Updates updated",
    },
)


def __dir__() -> list[str]:
    return __all__
