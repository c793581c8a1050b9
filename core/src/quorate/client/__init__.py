"""The Python client: `async with connect(...) as q` or `with Client(...) as q`."""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient as AsyncClient, connect as connect
    from quorate.client.brokers import Registration as Registration
    from quorate.client.errors import (
        ClosedError as ClosedError,
        DeadlineError as DeadlineError,
        InvalidError as InvalidError,
        OtherClusterError as OtherClusterError,
        OutcomeUnknownError as OutcomeUnknownError,
        QuorateError as QuorateError,
        RejectedError as RejectedError,
        UnansweredError as UnansweredError,
        UnavailableError as UnavailableError,
    )
    from quorate.client.fencing import Fencing as Fencing
    from quorate.client.following import (
        PrefixCache as PrefixCache,
        SyncPrefixCache as SyncPrefixCache,
    )
    from quorate.client.kv import KeyValue as KeyValue, Page as Page
    from quorate.client.records import (
        RecordChange as RecordChange,
        Records as Records,
        SyncRecords as SyncRecords,
    )
    from quorate.client.sessions import NamedSession as NamedSession, NamedSessions as NamedSessions
    from quorate.client.synchronous import Client as Client
    from quorate.client.tls import Tls as Tls
    from quorate.client.twins import (
        Blocking as Blocking,
        blocking as blocking,
        iterating as iterating,
    )
    from quorate.client.watching import ChangeKind as ChangeKind, WatchedChange as WatchedChange


__all__, __dir__, __getattr__ = lazily(
    __name__,
    {
        "quorate.client.asynchronous": "AsyncClient connect",
        "quorate.client.brokers": "Registration",
        "quorate.client.errors": (
            "ClosedError DeadlineError InvalidError OtherClusterError OutcomeUnknownError "
            "QuorateError RejectedError UnansweredError UnavailableError"
        ),
        "quorate.client.fencing": "Fencing",
        "quorate.client.following": "PrefixCache SyncPrefixCache",
        "quorate.client.kv": "KeyValue Page",
        "quorate.client.records": "RecordChange Records SyncRecords",
        "quorate.client.sessions": "NamedSession NamedSessions",
        "quorate.client.synchronous": "Client",
        "quorate.client.tls": "Tls",
        "quorate.client.twins": "Blocking blocking iterating",
        "quorate.client.watching": "ChangeKind WatchedChange",
    },
)
