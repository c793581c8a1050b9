"""The node as the servicers and controllers of a plugin see it."""

import ssl
from asyncio import Future
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Final,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    runtime_checkable,
)

from google.protobuf.message import Message

from quorate.plugin.access import Access
from quorate.plugin.outcomes import Rejected
from quorate.plugin.ports import OpenPort, ServicePort
from quorate.plugin.transaction import Event
from quorate.v1.command_pb2 import Command

if TYPE_CHECKING:
    # A client starts without it.
    from pydantic import BaseModel

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message | bytes)
T = TypeVar("T")
ModelT = TypeVar("ModelT", bound="BaseModel")
CacheT = TypeVar("CacheT", bound="CacheView")

#: How new a read is: `linearizable` holds every write that was answered before it, from any node;
#: `stale` reads the rows of some replica, also while there is no majority.
Consistency = Literal["linearizable", "stale"]


@dataclass(frozen=True, slots=True)
class ShardRef:
    """A shard and the term in which this node leads it; a controller acts on behalf of both."""

    #: The group of the shard.
    group: str
    #: Its number in the group.
    shard: int
    #: The term of the leader.
    term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStatus:
    """A shard, as far as a node knows it."""

    #: The group of the shard.
    group: str
    #: Its number in the group.
    shard: int
    #: The node that leads it; "": none is known.
    leader: str
    #: The newest term; 0: not known. On one node it never falls while the shard exists.
    term: int
    #: The index of the newest entry that is applied here; 0 on a node without a replica.
    applied: int
    #: That of the newest one that is known here to be committed; 0 on a node without a replica.
    committed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """A cluster, as far as a node knows it."""

    #: The node that answers.
    node: str
    #: The id of the cluster; empty before the node belongs to one.
    cluster: bytes
    #: The addresses of all known nodes, by their names.
    addresses: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a command, as known to the node where it enters."""

    #: The identity that the caller has proved; empty when the cluster asks for none.
    name: str = ""
    #: How the command came: as a `client` made it, through `CommandService`; from a `service` or
    #: another part of a plugin on this node; or from a `controller` or timer, fenced to a leader.
    via: Literal["client", "service", "controller"] = "client"
    #: Whether it bypasses access checks: it is a node of the cluster, or has the root token, or the
    #: node acts for a user that a plugin has admitted at a port of its own.
    node: bool = False
    #: Its address, while this node limits its callers, or at a port of a plugin.
    address: str = ""


#: A node itself, outside of calls, controllers and timers.
NODE: Final = Caller(node=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRef:
    """Names one operation of an exactly-once session."""

    #: The number that the session was opened under.
    session: int
    #: The number of the operation, from 1 on.
    sequence: int
    #: Answers to operations before this one are not needed any more.
    lowest_unanswered: int


class Fence(NamedTuple):
    """Refuses a command with FENCED if its shard knows a newer token of the same name.

    The shard remembers the token of each command that it accepts, for at least seven days.
    """

    #: Usually the name of a lock; at most 1,024 bytes.
    name: bytes
    #: Of successive writers, the later one has the larger token.
    token: int

    @property
    def fence(self) -> "Fence":
        """Itself: clients accept a fence, or an object that has one."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedEvent:
    """An event as a watcher gets it; `token` resumes the watch right after it.

    `event` is None for a bookmark (the token alone moves on) and when `resync` is set: history was
    lost to this watcher, which must list again.
    """

    #: None for a bookmark, and with `resync`.
    event: Event | None
    #: That of the command which made the event.
    revision: int
    #: Resumes a watch after this event.
    token: bytes
    #: Whether history was lost: list again.
    resync: bool = False
    #: The number of the event's shard within the group; revisions of other shards are not compared.
    shard: int = 0


@dataclass(frozen=True, kw_only=True)
class Answers(Generic[A]):
    """The results of a query in key order, and how stale they may be."""

    #: In key order.
    rows: Sequence[A]
    #: 0 of a linearizable read; -1: not known.
    age_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardAnswers(Generic[R]):
    """The results of a query from one of several shards, or its failure."""

    #: The number of the shard.
    shard: int
    #: The positions of the query's items that it was asked for; empty for a query without items.
    positions: Sequence[int] = ()
    #: In key order.
    rows: Sequence[R] = ()
    #: 0 of a linearizable read; -1: not known.
    age_ms: int = 0
    #: None: the read succeeded.
    failure: Rejected | None = None


class CacheView(Protocol):
    """A cache of rows that the host feeds: reset, then every row, then every change in order."""

    def reset(self) -> None:
        """Forget everything; the rows follow."""

    def put(self, family: str, key: bytes, row: bytes) -> None:
        """Take a row that is new or was changed."""

    def delete(self, family: str, key: bytes) -> None:
        """Forget a row."""


@runtime_checkable
class CompleteCacheView(CacheView, Protocol):
    """A cache with a `listed` method, called after each `reset` once it has every row."""

    def listed(self) -> None:
        """Called when every row was put."""


class OrderedCommands(Protocol):
    """Commands that reach each shard's log in the order in which they were proposed."""

    def propose(self, command: Message, reply: type[R]) -> Future[R]:
        """Replicate a command after those before it, as `NodeApi.propose` does.

        A refusal (`Rejected`, `Invalid`) is an answer, and the commands after it go on. After any
        other failure nothing more is proposed: no command takes effect without its predecessors.
        """

    async def close(self) -> None:
        """Propose and answer nothing more; commands already proposed continue."""


class NodeApi(Protocol):
    """The node that hosts a plugin. Routing, forwarding, barriers and splitting are the host's:
    a servicer works the same on a node that holds no replica of the shard."""

    def config(self, model: type[ModelT]) -> ModelT:
        """Return this plugin's section of the configuration file."""

    def tls(self, *protocols: str) -> ssl.SSLContext | None:
        """Return the TLS context for connections to a port of the plugin's own.

        `protocols` are offered by ALPN, the preferred one first. It follows replacements of the
        node's certificate, and demands one of clients if the node does. None: the node does not
        encrypt.
        """

    @property
    def shares_ports(self) -> bool:
        """Whether a port of the plugin's own is one of several processes, the workers of a machine.

        It then has to be opened with `reuse_port`; each connection goes to one of them.
        """

    def serve(self, port: ServicePort) -> AbstractAsyncContextManager[OpenPort]:
        """Serve gRPC, and HTTP/1.1 beside it, at a port of the plugin's own within a block.

        Connections, requests and times are bounded as on the node's own port. It is not entered
        where the node cannot listen on the address, or others could reach it without TLS.
        """

    def cluster(self) -> ClusterStatus:
        """Return this node, the id of its cluster, and the addresses of the nodes."""

    def shard(self, group: str, shard_key: bytes = b"") -> ShardStatus:
        """Return the status of the shard of a shard key, as far as this node knows.

        A call costs no messages. A linearizable read that has returned has made this node know the
        term in which it was made. Raises what a command does while no shard of the group has
        the key: the cluster is being founded.
        """

    def shard_bytes(self, group: str, shard_key: bytes = b"") -> int:
        """Return the size of the database with the shard of a shard key on this node.

        It counts files and rows that are not flushed to them; 0 without a replica here. Raises what
        `shard` does.
        """

    async def transfer_leader(self, node: str, group: str, shard_key: bytes = b"") -> None:
        """Transfer the leadership of the shard of a shard key to a node, and wait for it.

        It stays there for a while. Raises `Rejected`: `NOT_LEADER` where this node does not lead
        the shard, and `FAILED_PRECONDITION` where the other one cannot take it.
        """

    def cache(self, kind: type[CacheT]) -> CacheT:
        """Return the cache of that type which a plugin declared."""

    def cache_age_ms(self, kind: type[CacheView]) -> int:
        """Return how old that cache may be; -1: not known, or it lacks rows that it will get.

        It is as old as the replica that feeds it: 0 soon after every change, and growing while
        there is no majority.
        """

    def extensions(self, point: str, kind: type[T]) -> Mapping[str, T]:
        """Return the extensions of all plugins to an extension point, by the extension's name."""

    def level(self, plugin: str) -> int:
        """Return the level of a plugin that is in force, as far as this node knows.

        It never falls. Commands that need a higher one are refused until an operator has finished
        the upgrade of the cluster.
        """

    def caller(self) -> Caller:
        """Return the caller of the current call; outside of a call, the node itself."""

    def allows(self, user: str, access: Access, request: Message | None = None) -> bool:
        """Return whether a user was granted an access; True if callers are not authenticated.

        Without a request the user needs the right on the whole domain: a grant restricted to a
        tenant or to keys does not suffice.

        For ports of a plugin with a protocol other than gRPC: the plugin authenticates callers.
        """

    def is_reserved(self, name: str) -> bool:
        """Return whether a name is a node's or the cluster's own, and so no user's.

        For ports of a plugin with a protocol other than gRPC: they refuse a caller that shows a
        certificate with such a name.
        """

    def acting(self, user: str, address: str) -> AbstractContextManager[None]:
        """Act for a user in a block: the audit log and the writers of rows name it.

        For ports of a plugin with a protocol other than gRPC. The plugin has checked the rights of
        the user: the node checks no others. Streams of `ordered` keep the user of the block that
        they are made in.
        """

    def readable(self, family: str) -> Callable[[bytes], bool] | None:
        """Return a predicate of the keys that the current caller may read.

        None: every row. Methods that return rows their caller did not name leave out the others.
        """

    def count(self, metric: str, value: float = 1.0, **labels: str) -> None:
        """Add to a declared counter."""

    def observe(self, metric: str, value: float, **labels: str) -> None:
        """Record a value in a declared histogram, or set a declared gauge."""

    def progress(self, text: str) -> None:
        """Report the progress of a controller's run; "": clear the report.

        `quorate status` and `quorate controller list` show it. Outside of a run it is dropped.
        """

    def logical_ms(self, shard: ShardRef) -> int:
        """Return the logical time that a command would get if a controller proposed it now.

        Rows hold that time (`Txn.proposed_at_ms`); `Reader.now_ms` stands still while nothing is
        written. Raises `Rejected` (ABORTED) once this node does not lead the shard in that term.
        """

    def public_command(self, command: Command, caller: Caller) -> Message:
        """Return the message of a command that a client may send; raises `Invalid` for any other.

        The caller is the identity on whose behalf it is executed, now or later. Raises `Rejected`
        (PERMISSION_DENIED) for a command that it may not send.
        """

    async def propose(
        self,
        command: Message,
        reply: type[A],
        *,
        session: SessionRef | None = None,
        if_leader: ShardRef | None = None,
        fence: Fence | None = None,
    ) -> A:
        """Validate, route and replicate a command; return its handler's reply once it is durable.

        `if_leader` fences the command: it is refused when that term has passed. `fence` refuses it
        with FENCED where a newer token of that name is known. Raises `Invalid`
        before anything is logged, `Rejected` when the handler refused, `NotProposedError` where a
        retry is safe, and `OutcomeUnknownError` where it is not. A handler that returns None
        is answered with an empty `reply`; a caller that needs no reply asks for `Empty`, and one
        that passes it on as it is asks for `bytes`.
        """

    def ordered(self) -> OrderedCommands:
        """Return a new stream of commands that keep their order, which the caller closes."""

    def query(
        self,
        message: Message,
        row: type[R],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> AsyncIterator[R]:
        """Run a declared query where its rows are, and yield its answers in key order."""

    async def read(
        self,
        message: Message,
        row: type[A],
        *,
        consistency: Consistency = "linearizable",
        min_revision: int = 0,
    ) -> Answers[A]:
        """Run a declared query like `query`, and return its answers with their age.

        With `bytes` in place of a message they are not parsed: of queries that declare a `row`.
        """

    def read_shards(
        self,
        message: Message,
        row: type[R],
        *,
        shards: Collection[int] | None = None,
        consistency: Consistency = "linearizable",
    ) -> AsyncIterator[ShardAnswers[R]]:
        """Run a declared query on its shards, or on some of them, and yield each one's answers as
        soon as they are there.

        A shard that cannot be read does not delay the others: their answers are yielded at once,
        and soon after them the shard with its failure. If no shard can be read, the failure is
        raised.
        """

    def watch(
        self, family: str, *, prefix: bytes = b"", token: bytes = b""
    ) -> AsyncIterator[WatchedEvent]:
        """Yield the changes of a family's rows under a key prefix.

        Without a token the watch begins with the current rows, and goes on without a gap.
        """
