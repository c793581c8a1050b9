"""What few plugins need of the plugin API, beside `quorate.plugin`.

Helpers of hot paths and batches, tables and files, pages of the console, ports, fences, and reads
of many shards. What is promised of `quorate.plugin` is promised of it, too.
"""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.http1.messages import HttpAnswer, HttpHandler, HttpRequest
    from quorate.http2.grpc.context import CallContext
    from quorate.plugin.access import Grant, cluster_place, tenant_place
    from quorate.plugin.batches import (  # type: ignore[deprecated]
        answer_each,
        read_each,
        read_range,
        read_spliced,
        read_values,
        still_due,
    )
    from quorate.plugin.complaints import Complaints
    from quorate.plugin.console import Demo, DemoScene
    from quorate.plugin.declarations import (
        CONSTANT_KEY,
        METADATA_GROUP,
        Alert,
        Column,
        ColumnLoad,
        ConsoleAction,
        ConsolePage,
        FileLoad,
        ReadBatch,
        Removal,
        Table,
        constant_key,
    )
    from quorate.plugin.fences import FENCE_NAMES, FenceNames
    from quorate.plugin.gathering import Gathering
    from quorate.plugin.invalid_items import CheckedItems, propose_valid, split_invalid
    from quorate.plugin.node import (
        Answers,
        ClusterStatus,
        OrderedCommands,
        SessionRef,
        ShardAnswers,
        ShardStatus,
        WatchedEvent,
    )
    from quorate.plugin.outcomes import NotProposedError, OutcomeUnknownError
    from quorate.plugin.ports import OpenPort, ServicePort
    from quorate.plugin.resource import (
        History,
        Remake,
        Stored,
        TenantCascade,
        TenantRows,
        Ttl,
        find_row,
        get_row,
        remove_row,
        write_row,
    )
    from quorate.plugin.services import Stub, generic_handler
    from quorate.plugin.transaction import EmittedEvent, Event, Splice, UndeclaredFamilyError
    from quorate.plugin.updates import Updates, updated

__all__ = [
    "CONSTANT_KEY",
    "FENCE_NAMES",
    "METADATA_GROUP",
    "Alert",
    "Answers",
    "CallContext",
    "CheckedItems",
    "ClusterStatus",
    "Column",
    "ColumnLoad",
    "Complaints",
    "ConsoleAction",
    "ConsolePage",
    "Demo",
    "DemoScene",
    "EmittedEvent",
    "Event",
    "FenceNames",
    "FileLoad",
    "Gathering",
    "Grant",
    "History",
    "HttpAnswer",
    "HttpHandler",
    "HttpRequest",
    "NotProposedError",
    "OpenPort",
    "OrderedCommands",
    "OutcomeUnknownError",
    "ReadBatch",
    "Remake",
    "Removal",
    "ServicePort",
    "SessionRef",
    "ShardAnswers",
    "ShardStatus",
    "Splice",
    "Stored",
    "Stub",
    "Table",
    "TenantCascade",
    "TenantRows",
    "Ttl",
    "UndeclaredFamilyError",
    "Updates",
    "WatchedEvent",
    "answer_each",
    "cluster_place",
    "constant_key",
    "find_row",
    "generic_handler",
    "get_row",
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
        "quorate.plugin.access": "Grant cluster_place tenant_place",
        "quorate.plugin.batches": (
            "answer_each read_each read_range read_spliced read_values still_due"
        ),
        "quorate.plugin.complaints": "Complaints",
        "quorate.plugin.console": "Demo DemoScene",
        "quorate.plugin.declarations": (
            "CONSTANT_KEY METADATA_GROUP Alert Column ColumnLoad ConsoleAction ConsolePage "
            "FileLoad ReadBatch Removal Table constant_key"
        ),
        "quorate.plugin.fences": "FENCE_NAMES FenceNames",
        "quorate.plugin.gathering": "Gathering",
        "quorate.plugin.invalid_items": "CheckedItems propose_valid split_invalid",
        "quorate.plugin.node": (
            "Answers ClusterStatus OrderedCommands SessionRef ShardAnswers ShardStatus WatchedEvent"
        ),
        "quorate.plugin.outcomes": "NotProposedError OutcomeUnknownError",
        "quorate.plugin.ports": "OpenPort ServicePort",
        "quorate.plugin.resource": (
            "History Remake Stored TenantCascade TenantRows Ttl find_row get_row remove_row "
            "write_row"
        ),
        "quorate.plugin.services": "Stub generic_handler",
        "quorate.plugin.transaction": "EmittedEvent Event Splice UndeclaredFamilyError",
        "quorate.plugin.updates": "Updates updated",
    },
)


def __dir__() -> list[str]:
    return __all__
