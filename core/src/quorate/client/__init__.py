"""The Python client: `async with connect(...) as q` or `with Client(...) as q`."""

from typing import TYPE_CHECKING

from quorate.plugin.lazily import lazily

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient, connect
    from quorate.client.brokers import Registration
    from quorate.client.errors import (
        ClosedError,
        DeadlineError,
        InvalidError,
        OtherClusterError,
        OutcomeUnknownError,
        QuorateError,
        RejectedError,
        UnansweredError,
        UnavailableError,
    )
    from quorate.client.fencing import Fencing
    from quorate.client.following import PrefixCache, SyncPrefixCache
    from quorate.client.kv import KeyValue, Page
    from quorate.client.records import RecordChange, Records, SyncRecords
    from quorate.client.sessions import NamedSession, NamedSessions
    from quorate.client.synchronous import Client
    from quorate.client.tls import Tls
    from quorate.client.twins import Blocking, blocking, iterating
    from quorate.client.watching import ChangeKind, WatchedChange


__all__ = [
    "AsyncClient",
    "Blocking",
    "ChangeKind",
    "Client",
    "ClosedError",
    "DeadlineError",
    "Fencing",
    "InvalidError",
    "KeyValue",
    "NamedSession",
    "NamedSessions",
    "OtherClusterError",
    "OutcomeUnknownError",
    "Page",
    "PrefixCache",
    "QuorateError",
    "RecordChange",
    "Records",
    "Registration",
    "RejectedError",
    "SyncPrefixCache",
    "SyncRecords",
    "Tls",
    "UnansweredError",
    "UnavailableError",
    "WatchedChange",
    "blocking",
    "connect",
    "iterating",
]

__getattr__ = lazily(
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


def __dir__() -> list[str]:
    return __all__
