"""The declarations of a plugin. Every type is frozen: a plugin declares, the host acts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

from google.protobuf.message import Message

from quorate.plugin.access import Access, Place
from quorate.plugin.node import CacheView, Caller, NodeApi, ShardRef
from quorate.plugin.source_lines import Declaration
from quorate.plugin.transaction import Reader, Txn

if TYPE_CHECKING:
    import click
    from google.protobuf.descriptor import ServiceDescriptor
    from pydantic import BaseModel

M = TypeVar("M", bound=Message)
I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference

#: The shard key of a domain whose rows are needed together.
CONSTANT_KEY: Final = b""


def constant_key(_: object) -> bytes:
    """Send every command of a domain to one shard, because its rows are needed together."""
    return CONSTANT_KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftGroup(Declaration):
    """A named set of shards. Plugins may declare the same group, if they declare it equally."""

    #: In small letters. Shards, settings and families name the group by it.
    name: str
    #: How many shards a new cluster gives the group; `[groups.<name>] shards` overrides it.
    shards: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFamily(Declaration):
    """A kind of rows in the shards of a group."""

    #: `<plugin>.<plural noun>`.
    name: str
    #: The group of the shards that store its rows.
    group: str
    #: Set: rows are watched, listed and exported as this message. None: a private index.
    row: type[Message] | None = None
    #: The shard key of a row's key; None: every row belongs to the constant shard key.
    shard_key: Callable[[bytes], bytes] | None = None
    #: Called with a row's key and value when a shard deletes it because it moved to another
    #: shard with its slot: removes it from the state that the shard keeps of all its rows, such as
    #: their number in a family without `shard_key`. It runs as a handler does, and emits no event;
    #: what it writes to a family with `row` is dropped.
    departs: Callable[[Txn, bytes, bytes], None] | None = None
    #: Of a family without `shard_key`: merges a row that two shards have when the shards are
    #: merged, from its key and both values. None: shards that both have such rows are not merged.
    joins: Callable[[bytes, bytes, bytes], bytes] | None = None
    #: A small family of `metadata` that the host copies into every shard whose handlers read it.
    mirrored: bool = False
    #: Events carry the value before the change.
    previous: bool = False
    #: The host keeps an exact count of the rows.
    counted: bool = False
    #: From the key of a row to its tenant and the first part of the key in it, by which watches and
    #: lists show callers their own rows; None: a caller that may read any row may read all.
    place: Callable[[bytes], Place] | None = None


class ReadBatch(Protocol):
    """A batch that was read once: it is checked, routed and executed without its message."""

    @property
    def shard_keys(self) -> Sequence[bytes]:
        """The shard key of each item."""

    @property
    def keys(self) -> Sequence[bytes]:
        """The key of each item; the same object where these are the shard keys."""

    def apply(self, txn: Txn) -> Message:
        """Execute it as the handler of its command does."""


@dataclass(frozen=True, kw_only=True)
class Items(Generic[M, I]):
    """How the host splits a batch over shards; the reply to a command is a `BatchReply`."""

    #: The items of a command or query.
    get: Callable[[M], Sequence[I]]
    #: The shard key of an item.
    shard_key: Callable[[I], bytes]
    #: A command or query like the given one, with these items in place of its own.
    make: Callable[[M, Sequence[I]], M]
    #: The subject of an item: an item that repeats it is refused. None: items may repeat.
    key: Callable[[I], bytes] | None = None
    #: The tenant of an item, whose quotas are charged. None: items have no tenant.
    tenant: Callable[[I], str] | None = None
    #: Reads a batch of usual items that all pass `validate`; None for any other batch, which is
    #: looked at item by item. For commands with thousands of items.
    read: Callable[[M], ReadBatch | None] | None = None

    @classmethod
    def of(
        cls,
        repeated: str,
        *,
        shard_key: Callable[[I], bytes],
        key: Callable[[I], bytes] | None = None,
        tenant: Callable[[I], str] | None = None,
    ) -> Items[M, I]:
        """Return how to split a batch with all of its items in this repeated field."""

        def make(whole: M, items: Sequence[I]) -> M:
            said: dict[str, Any] = {each.name: value for each, value in whole.ListFields()}
            return type(whole)(**{**said, repeated: items})

        return cls(get=attrgetter(repeated), shard_key=shard_key, make=make, key=key, tenant=tenant)


@dataclass(frozen=True, kw_only=True)
class Command(Declaration, Generic[M]):
    """A write. The message's full name is its identity in the log for ever."""

    #: The message that is written to the log.
    message: type[M]
    #: The group of the shards that execute it.
    group: str
    #: At least one; the conformance kit executes them.
    examples: tuple[M, ...]
    #: Its synchronous, deterministic handler, which runs on the leader alone; the result is the
    #: reply, None an empty one.
    apply: Callable[[Txn, M], Message | None]
    #: Families that the handler reads and its plugin does not own in the group: families of other
    #: plugins in the same group, and mirrored ones.
    reads: tuple[str, ...] = ()
    #: Exactly one of `shard_key` and `items` is set.
    shard_key: Callable[[M], bytes] | None = None
    #: Set for a batch, which the host splits over shards.
    items: Items[M, Any] | None = None
    #: The keys of the rows that it, or an item of a batch, is for, as the audit log shows them;
    #: None: the key of each item, or else the shard key.
    keys: Callable[[Any], Sequence[bytes]] | None = None
    #: Stateless; raises `Invalid`. It runs on every way in, and again on the leader.
    validate: Callable[[M], None] | None = None
    #: Applies settings, defaults, quotas and checks of the caller: runs once, on the node where
    #: the command enters, after `validate`. It returns the message to go on with, or None for the
    #: given one, which it does not modify; it changes no shard key and drops no item. An exception
    #: (`Invalid`, `Rejected`) is answered to the caller, and nothing is logged.
    admit: Callable[[NodeApi, Caller, M], Awaitable[M | None]] | None = None
    #: May come from a client through `CommandService`; an internal command never does.
    public: bool = False
    #: The access that its sender needs, in a batch for each item; None: only admins may send a
    #: public command. An internal command is not checked again: its proposing method was.
    access: Access | None = None
    #: It only deletes: tenants may send it when their storage quota is used up.
    frees: bool = False
    #: The level of its plugin that it needs: above 1 it is refused until all nodes run a release
    #: that has it, and an operator has finished the upgrade. The highest of all commands is the
    #: level of the plugin.
    level: int = 1


@dataclass(frozen=True, kw_only=True)
class Query(Declaration, Generic[M]):
    """A read that runs where the rows are."""

    #: The message of the query.
    message: type[M]
    #: The group of the shards that answer.
    group: str
    #: Yields the answers, in key order.
    run: Callable[[Reader, M], Iterable[Message | bytes]]
    #: Set: the message of its answers. `run` yields the wire form of such messages, spliced from
    #: stored rows with `quorate.plugin.splicing`, and they are not parsed on the way.
    row: type[Message] | None = None
    #: None, or one that returns None: it runs on all shards of the group, and the answers are
    #: merged by `order`.
    shard_key: Callable[[M], bytes | None] | None = None
    #: The items that it asks for, instead of a `shard_key`: each shard gets the items it holds.
    #: Without an `order` `run` yields one answer for each item, in the order of the items.
    items: Items[M, Any] | None = None
    #: The key by which answers of several shards are merged; needed without a `shard_key`,
    #: unless each of the `items` is answered.
    order: Callable[[Any], bytes] | None = None
    #: Families that it reads and its plugin does not own in the group.
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer(Declaration):
    """Deadlines in logical time: the host proposes `due(keys)` when they expire."""

    #: `<plugin>.<noun>`; the name to pass to `Txn.schedule`.
    name: str
    #: Deadlines are stored in the shards of this group, with their rows.
    group: str
    #: Builds the command for keys that are due; its handler re-checks each one's deadline.
    due: Callable[[Sequence[bytes]], Message]
    #: Maximum number of keys in one command.
    batch: int = 1_000
    #: A heartbeat: a leader that is new or was stalled first waits one full TTL.
    liveness: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller(Declaration):
    """A background task that runs on the leader alone, and changes state only by proposing."""

    #: `<plugin>.<noun and gerund>`.
    name: str
    #: It runs where shards of this group are led.
    group: str
    #: One round: reads, compares and proposes. An exception is logged, and the round is retried.
    run_once: Callable[[NodeApi, ShardRef], Coroutine[Any, Any, None]]
    #: Seconds between two rounds; a function may read them from the configuration.
    interval_s: float | Callable[[NodeApi], float]
    #: Whether one leader works for the group, or each for its shard.
    scope: Literal["first_shard", "each_shard"] = "first_shard"
    #: Families, of any group, whose changes run the controller at once.
    wake_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Declaration):
    """Hot rows in memory, on every node, always rebuildable from their families."""

    #: `<plugin>.<noun>`.
    name: str
    #: The group of its families.
    group: str
    #: The families of its rows.
    families: tuple[str, ...]
    #: Makes the view that the host feeds.
    factory: Callable[[], CacheView]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A Prometheus alert on a metric, with instructions for operators."""

    #: In CamelCase, after `Quorate`: the fault.
    name: str
    #: In PromQL; true while the fault lasts.
    expression: str
    #: A sentence: the fault.
    meaning: str
    #: A sentence: the action to take.
    action: str
    #: For how long the expression must have been true.
    for_s: int = 60
    #: `critical` pages an operator.
    severity: Literal["critical", "warning"] = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Declaration):
    """A measurement that the plugin reports through `NodeApi.count` and `NodeApi.observe`."""

    #: `quorate_<plugin>_<noun>_<unit>`.
    name: str
    #: `counter` only grows; `gauge` is the last observation; `histogram` counts by size.
    kind: Literal["counter", "gauge", "histogram"]
    #: A sentence for the people reading it.
    help: str
    #: Each value of a label is a series of its own: name few, and no keys of rows.
    labels: tuple[str, ...] = ()
    #: `quorate metrics export alerts` prints it.
    alert: Alert | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSection(Declaration):
    """The model of `[plugins.<name>]`: a frozen pydantic model that forbids unknown keys."""

    #: Every field has a default or must be set; a description is shown to operators.
    model: type[BaseModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpcService(Declaration):
    """A gRPC service that every node serves."""

    #: `DESCRIPTOR.services_by_name["XService"]` of the module generated from its `.proto` file.
    service: ServiceDescriptor
    #: Makes the servicer, with a method for each method of the service, under its name; usually a
    #: class.
    servicer: Callable[[NodeApi], object]
    #: The access that a caller of each method needs. Without an entry, a method with a public
    #: command as its request needs the command's access; any other is for admins only.
    access: Mapping[str, Access] = field(default_factory=dict)
    #: The methods of which the access is checked by the command that they send, item by item.
    by_command: frozenset[str] = frozenset()

    @property
    def full_name(self) -> str:
        """The full name of the service, as in its `.proto` file."""
        return self.service.full_name


@dataclass(frozen=True, slots=True, kw_only=True)
class CliCommand(Declaration):
    """A command, usually a command group, below `quorate`; loaded only when it is called."""

    #: The word that follows `quorate`.
    name: str
    #: A sentence for `quorate --help`.
    help: str
    #: Imports and returns the command.
    load: Callable[[], click.Command]
    #: Former command lines, each with the present one, both without `quorate`: they go on, with a
    #: warning, where no command has their words now.
    former: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionPoint(Declaration):
    """A point at which this plugin accepts extensions of other plugins."""

    #: `<plugin>.<plural noun>`.
    name: str
    #: The type of its extensions.
    type: type[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension(Declaration):
    """An extension that this plugin gives to a point; unread if no plugin declares the point."""

    #: The name of the extension point.
    point: str
    #: Its name, unique within the point.
    name: str
    #: An instance of the type of the point.
    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleAction:
    """An action of the console: a command, shown and confirmed before it runs."""

    #: The title of its page, such as `Pause a connector`.
    title: str
    #: The words of the command, which must not prompt. `{name}` stands for an argument that is
    #: asked for, or taken from a row with a column of that name; `--option={name}` is left out when
    #: nothing is given for it.
    command: Sequence[str]
    #: The words of a read-only command that shows the coming changes, or the rows affected; empty:
    #: the help of the command suffices.
    plan: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolePage:
    """A page of the console: the type of the extension point `cluster.console_pages`."""

    #: The title of the page, and of the link to it.
    title: str
    #: The commands behind the tables, by title: commands of the plugin that only read and print
    #: rows on their `Console`, with their arguments. They run with the rights of the page's reader.
    #: A `{name}` in them, as in a `ConsoleAction`, is asked for; the table is shown once all are
    #: given. `{name=value}` is given from the start, and `{name=}` may be left out. A row with
    #: columns for the arguments of a table leads to that table. A table with `--after={after=}` has
    #: pages: each goes on after what the last row of the page before has for its last argument.
    tables: Mapping[str, Sequence[str]]
    #: The actions, by verbs such as `pause`: on each row that has a column for every argument, and
    #: below the tables. They run with the rights of the user that confirms them.
    actions: Mapping[str, ConsoleAction] = field(default_factory=dict)


#: Moments are ints of this unit since the beginning of 1970 in UTC.
MomentUnit = Literal["s", "ms", "us", "ns"]
MapKey = Literal["string", "int", "long", "boolean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a `Table`."""

    #: As in the table.
    name: str
    #: The type of its values; of a map, of the values in it.
    type: Literal["string", "binary", "int", "long", "double", "boolean"]
    #: Whether a value may be None.
    nullable: bool = False
    #: Set: its values are moments. The functions of the table have them as ints of this unit;
    #: Spark has timestamps.
    moment: MomentUnit | None = None
    #: Set: its values are maps, each a `dict` with keys of this type.
    map_key: MapKey | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """How a family's rows look as a table: the type of the extension point `spark.tables`.

    A row is a tuple of values in the order of the columns; None is the value of a column that may
    be null. The functions that make items raise `Invalid` with the name of the column for an
    invalid value.
    """

    #: The family of its rows.
    family: str
    #: In the order of the values of a row.
    columns: tuple[Column, ...]
    #: The names of the columns that make up the key, in the key's order.
    key: tuple[str, ...]
    #: The public batch command that writes rows.
    write: type[Message]
    #: Takes the values of a row, one argument each, and returns an item of `write`.
    to_item: Callable[..., Message]
    #: Takes the key and the value of a row of the family.
    from_row: Callable[[bytes, bytes], tuple[object, ...]]
    #: Takes values for the first columns of the key, and returns the prefix of the keys of rows
    #: with these values. Larger values give larger keys.
    to_key: Callable[..., bytes]
    #: Like `to_item`, for an item that is refused if its row already exists; None: this table has
    #: no plain insert.
    to_insert: Callable[..., Message] | None = None
    #: How an insert is undone; None: it cannot be.
    removal: Removal | None = None
    #: How rows are loaded as files that are made outside their shard; None: by commands alone.
    files: FileLoad | None = None
    #: Columns map to fields by name, so that rows are decoded in bulk without `from_row`: the key
    #: is the only column of it, or packs them in their order; each other column is the field of its
    #: name, in the row or in a message within it. `from_row` gives null for an empty field always
    #: or never, and for an enumeration its word.
    plain: bool = False


@dataclass(frozen=True, kw_only=True)
class FileLoad:
    """How new rows of a batch command are made outside their shard, and installed as files.

    Its handler makes them, in a transaction without any row of a family that has a shard key.
    Its writes to such families, and its deadlines, go into the files; its other writes are
    dropped, and made by `settle`.
    """

    #: The name that an item is counted under, such as its tenant.
    counted_by: Callable[[Any], str] = lambda _: ""
    #: Runs on the leader when the files of a shard are installed, with the number of items of each
    #: name. It writes the state about all rows, such as their number; an exception refuses the
    #: files.
    settle: Callable[[Txn, Mapping[str, int]], None] | None = None
    #: A several times faster way for the rows of nearly all items; None: the handler makes all.
    columns: ColumnLoad | None = None


@dataclass(frozen=True, kw_only=True)
class ColumnLoad:
    """How many rows are made from columns, without an item for each.

    They equal the rows that the handler makes of their items. Unusual rows are left to it.
    """

    #: Takes the columns, each as a list, and returns the shard key of each row; None: one of the
    #: rows may be refused, or is made in another way.
    shard_keys: Callable[..., list[bytes] | None]
    #: Takes a transaction, the shard keys and the columns, writes the rows, and returns how many
    #: rows each name of `counted_by` has. Raises `Rejected` before it writes anything where the
    #: handler might refuse one.
    make: Callable[..., Mapping[str, int]]


@dataclass(frozen=True, kw_only=True)
class Removal:
    """How rows of a table are deleted, unless they have changed since a revision."""

    #: The public batch command.
    delete: type[Message]
    #: Takes the key and the revision of a row, and returns an item of `delete`, which is refused
    #: or does nothing when the row has another revision.
    to_item: Callable[[bytes, int], Message]


#: The group that every cluster has, whichever plugins are enabled.
METADATA_GROUP: Final = RaftGroup(name="metadata")
