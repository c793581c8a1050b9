"""What few plugins need of the plugin API, beside `quorate.plugin`.

Helpers of hot paths and batches, tables and files, pages of the console, ports, fences, and reads
of many shards. What is promised of `quorate.plugin` is promised of it, too.
"""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.http1.messages import (
        HttpAnswer as HttpAnswer,
        HttpHandler as HttpHandler,
        HttpRequest as HttpRequest,
    )
    from quorate.http2.grpc.context import CallContext as CallContext
    from quorate.plugin.access import (
        Grant as Grant,
        cluster_place as cluster_place,
        tenant_place as tenant_place,
    )
    from quorate.plugin.batches import (  # type: ignore[deprecated]
        answer_each as answer_each,
        read_each as read_each,
        read_range as read_range,
        read_spliced as read_spliced,
        read_values as read_values,
        still_due as still_due,
    )
    from quorate.plugin.columns import BatchColumns as BatchColumns, ReadColumns as ReadColumns
    from quorate.plugin.complaints import Complaints as Complaints
    from quorate.plugin.console import Demo as Demo, DemoScene as DemoScene
    from quorate.plugin.declarations import (
        CONSTANT_KEY as CONSTANT_KEY,
        METADATA_GROUP as METADATA_GROUP,
        Alert as Alert,
        Column as Column,
        ColumnLoad as ColumnLoad,
        ConsoleAction as ConsoleAction,
        ConsolePage as ConsolePage,
        FileLoad as FileLoad,
        ReadBatch as ReadBatch,
        Removal as Removal,
        Table as Table,
        constant_key as constant_key,
    )
    from quorate.plugin.fences import FENCE_NAMES as FENCE_NAMES, FenceNames as FenceNames
    from quorate.plugin.gathering import Gathering as Gathering
    from quorate.plugin.invalid_items import (
        CheckedItems as CheckedItems,
        propose_valid as propose_valid,
        split_invalid as split_invalid,
    )
    from quorate.plugin.node import (
        Answers as Answers,
        ClusterStatus as ClusterStatus,
        OrderedCommands as OrderedCommands,
        SessionRef as SessionRef,
        ShardAnswers as ShardAnswers,
        ShardStatus as ShardStatus,
        WatchedEvent as WatchedEvent,
    )
    from quorate.plugin.outcomes import (
        NotProposedError as NotProposedError,
        OutcomeUnknownError as OutcomeUnknownError,
    )
    from quorate.plugin.ports import OpenPort as OpenPort, ServicePort as ServicePort
    from quorate.plugin.resource import (
        History as History,
        Remake as Remake,
        Stored as Stored,
        TenantCascade as TenantCascade,
        TenantRows as TenantRows,
        Ttl as Ttl,
        find_row as find_row,
        get_row as get_row,
        remove_row as remove_row,
        write_row as write_row,
    )
    from quorate.plugin.services import Stub as Stub, generic_handler as generic_handler
    from quorate.plugin.transaction import (
        EmittedEvent as EmittedEvent,
        Event as Event,
        Splice as Splice,
        UndeclaredFamilyError as UndeclaredFamilyError,
    )
    from quorate.plugin.updates import Updates as Updates, updated as updated


__all__, __dir__, __getattr__ = lazily(
    __name__,
    {
        "quorate.http1.messages": "HttpAnswer HttpHandler HttpRequest",
        "quorate.http2.grpc.context": "CallContext",
        "quorate.plugin.access": "Grant cluster_place tenant_place",
        "quorate.plugin.batches": (
            "answer_each read_each read_range read_spliced read_values still_due"
        ),
        "quorate.plugin.columns": "BatchColumns ReadColumns",
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
