"""The Python client: `async with connect(...) as q` or `with Client(...) as q`."""

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
