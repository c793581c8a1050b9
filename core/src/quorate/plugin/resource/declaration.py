"""The declaration of a resource: rows with a key that are written, read, listed and watched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from google.protobuf.message import Message

from quorate.plugin.access import Access
from quorate.plugin.checking import LARGEST_PAGE
from quorate.plugin.declarations import CONSTANT_KEY, METADATA_GROUP, ReadBatch, Table
from quorate.plugin.node import Caller, NodeApi
from quorate.plugin.source_lines import Declaration
from quorate.plugin.transaction import Txn
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from google.protobuf.descriptor import ServiceDescriptor

R = TypeVar("R", bound=Message)

#: Refuses a value, and is given the path of its field.
CheckField = Callable[[str, Any], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The checks of a verb whose command is checked as a whole."""

    #: Refuses an invalid command, also for its keys and items, which are not checked before it.
    #: Then one invalid item refuses the others, unless `item` is also given, which finds the
    #: invalid ones.
    command: Callable[[Any], None] | None = None
    #: Refuses an invalid item regardless of stored rows, and gets the path of the item.
    item: Callable[[Any, str], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """The items of a verb, where they are not like rows."""

    #: The reply to an item, where it is not the row.
    reply: type[Message] | None = None
    #: The key of an item, where it lacks the fields of the row's key.
    key: Callable[[Any], bytes] | None = None
    #: Reads a whole command of usual items, as in `Items`.
    read: Callable[[Any], ReadBatch | None] | None = None
    #: The items of one command may name a row more than once: `apply` takes them in their order.
    repeats: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """How the command of a verb enters the cluster."""

    #: As in `Command`.
    admit: Callable[[NodeApi, Caller, Any], Awaitable[Any]] | None = None
    #: The access that its sender needs, where it is not to write the row.
    access: Access | None = None
    #: Clients may send the command; None: if its verb has a method.
    public: bool | None = None
    #: A method of the resource's servicer executes the verb. With `apply` or `apply_all` it has a
    #: command to propose, which clients do not send; else the verb has no command.
    by_hand: bool = False
    #: As in `Command`.
    level: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """How one verb of a resource is executed, where the derived way does not suffice.

    Fields left out are derived, if the verb is `Create`, `Update`, `Put` or `Delete`.
    """

    #: Executes one item and returns its reply. It makes all of its checks before it writes: the
    #: other items of the batch stay.
    apply: Callable[[Txn, Any], Message | None] | None = None
    #: Executes the whole command, in place of `apply`: for a hot path, and for commands with
    #: fields beside their items.
    apply_all: Callable[[Txn, Any], BatchReply] | None = None
    #: The command of a verb that no method of the service calls: an internal one.
    message: type[Message] | None = None
    #: The items, where they are not like rows.
    item: Item = Item()
    #: Refuses an invalid item regardless of stored rows, and gets the path of the item.
    check: Callable[[Any, str], None] | Checks | None = None
    #: Families of others that it reads; the tenants are always readable.
    reads: tuple[str, ...] = ()
    #: Items for the conformance kit, or whole commands where these have fields beside their items;
    #: those of derived verbs are made of the resource's examples.
    examples: tuple[Message | bytes | str, ...] = ()
    #: How its command enters the cluster.
    admission: Admission = Admission()

    @property
    def checks(self) -> Checks:
        """The check, also where it is of an item alone."""
        return self.check if isinstance(self.check, Checks) else Checks(item=self.check)


#: Finds the value of a row of a moment by its family and key.
Stored = Callable[[str, bytes], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remake:
    """How clients restore a former row, where its own fields do not suffice."""

    #: The verb that makes it, or replaces it.
    verb: str = "Put"
    #: Takes the row and a finder of others of the same moment, and returns the item of the verb;
    #: raises `Invalid` for a row that cannot be made.
    item: Callable[[Any, Stored], Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ttl:
    """How long rows live: each from its last write."""

    #: The field with the milliseconds; 0 is for ever.
    field: str
    #: The internal command that ends rows: `message ExpireX { repeated bytes keys = 1; }`.
    expire: type[Message]
    #: The event of a row that has ended, in its field `row`; None: only that of the deletion.
    expired: type[Message] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Where the states of rows are kept: in a resource whose parent is that of the rows."""

    #: The family of that resource.
    family: str
    #: A state: the fields of the row's key, `number`, `written_at_ms`, and the row as `state`.
    row: type[Message]
    #: How many states of a row are kept.
    keep: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving(Generic[R]):
    """How a resource is served."""

    #: The methods that are served, of a service that several resources share; (): all of them.
    methods: tuple[str, ...] = ()
    #: Makes the servicer with the methods that replace derived ones, or cannot be derived.
    servicer: Callable[[NodeApi], object] | None = None
    #: The access that callers of the servicer's own methods need, as in `GrpcService`.
    access: Mapping[str, Access] = field(default_factory=dict)
    #: A request's further conditions: returns a predicate of the wanted rows, or None.
    keep: Callable[[Any], Callable[[R], bool] | None] | None = None
    #: The answer in the place of a row: a message with a field for it, or with its fields under
    #: the same numbers, and with its `revision`, if any. It has the fields of the key, too, where
    #: rows do not repeat their keys.
    answer: type[Message] | None = None
    #: Maximum number of keys in one lookup; less for large rows, which must fit into one message.
    lookups: int = LARGEST_PAGE
    #: The code with which a missing row is refused.
    missing: str = "NOT_FOUND"
    #: Fields that callers do not set; `created_at_ms` and `updated_at_ms` always belong to them.
    internal: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage(Generic[R]):
    """How the rows of a resource are stored."""

    #: Gives the shard key of a key that has the fields of `shard_by`: rows that share a part of a
    #: field share a shard; None: the fields as they are.
    shard_of: Callable[[bytes], bytes] | None = None
    #: Without `shard_by`: the shard key of all rows, which lie in one shard together.
    shard_key: bytes = CONSTANT_KEY
    #: As in `ColumnFamily`.
    mirrored: bool = False
    #: As in `ColumnFamily`.
    previous: bool = False
    #: As in `ColumnFamily`.
    counted: bool = False
    #: Called with the key of a row that has moved to another shard with its slot: removes it from
    #: the state that this shard keeps of all its rows; see `ColumnFamily.departs`.
    departs: Callable[[Txn, bytes, bytes], None] | None = None
    #: Called before a row is written or deleted, with the row before and after, or None. It may
    #: complete the row, write its dependents, and refuse by `Rejected` before it writes. Name the
    #: row for type checkers: `RULES: Final[Resource[pb.Rule]] = Resource(...)`.
    changed: Callable[[Txn, R | None, R | None], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How many rows there may be, and what ends them."""

    #: The resource whose rows these belong to, by the first parts of the key: they lie in one
    #: shard. A parent must exist and is not being deleted; its rows are deleted with it.
    parent: Resource[Any] | None = None
    #: The name of the limit that bounds the rows of a tenant; or how many rows a parent has.
    limit: str | int = ""
    #: The internal command that deletes in steps what belongs to a row which is being deleted:
    #: `message SweepX { repeated bytes keys = 1; }`. The row has a field `deleting_at_ms`.
    sweep: type[Message] | None = None
    #: How long rows live.
    ttl: Ttl | None = None
    #: Where the former states of rows are kept.
    history: History | None = None
    #: Whether the rows of a tenant are deleted with it; False: the plugin does that itself. A
    #: function returns the command that deletes the rows of keys, in the place of `Delete`.
    cascade: bool | Callable[[NodeApi, Sequence[bytes]], Message] = True
    #: Maximum number of rows that one command deletes with their tenant; less where each has many
    #: dependents.
    deletions: int = LARGEST_PAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How people see the rows of a resource."""

    #: The noun for one row in messages; "": the name of the row's message in small letters.
    noun: str = ""
    #: Whether `quorate <plugin>` gets the commands of this resource.
    cli: bool = True
    #: In the place of the derived table; False: no table.
    table: Table | bool = True
    #: How `quorate restore --beside` makes rows; None: by `Put` or `Create` that take all of a row.
    remake: Remake | None = None
    #: What a deletion removes besides its row: the command line names it and asks first.
    takes_along: str = ""


@dataclass(frozen=True, kw_only=True)
class Resource(Declaration, Generic[R]):
    """Rows of one kind, and all operations on them.

    Family, commands, handlers, queries, the methods of the service, the deletion of a tenant's
    rows, the records of the clients, the command line, the table and the reference are derived.
    """

    #: The column family, `<plugin>.<plural noun>`.
    family: str
    #: The message that a row is stored as.
    row: type[R]
    #: `DESCRIPTOR.services_by_name["XService"]`: its methods are bound by their names.
    service: ServiceDescriptor
    #: The fields of the row that make up its key, in the order in which rows are listed; of a
    #: message within the row as in `id.tenant`.
    key: tuple[str, ...]
    #: The group of the family.
    group: str = METADATA_GROUP.name
    #: The first fields of the key, by which rows are spread over shards; (): one shard has all.
    shard_by: tuple[str, ...] = ()
    #: The field that names the tenant: it must exist, and its rows are deleted with it.
    tenant: str = ""
    #: Refuses an invalid row regardless of stored rows, and gets the path of the row.
    check: Callable[[Any, str], None] | None = None
    #: Checks of parts of the key; text without a check must be a name.
    check_key: Mapping[str, CheckField] = field(default_factory=dict)
    #: Rows for the conformance kit and the reference, of different keys.
    examples: tuple[R, ...] = ()
    #: By name: verbs that replace derived ones, and verbs of the resource's own.
    verbs: Mapping[str, Verb] = field(default_factory=dict)
    #: How its methods are served.
    serving: Serving[R] = Serving()
    #: How its rows are stored.
    storage: Storage[R] = Storage()
    #: How many rows there may be, and what ends them.
    life: Life = Life()
    #: How people see its rows.
    view: View = View()
