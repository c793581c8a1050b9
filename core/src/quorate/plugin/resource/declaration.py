"""What an author says of a resource: rows with a key that are written, read, listed and watched."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from google.protobuf.message import Message

from quorate.plugin.access import Access
from quorate.plugin.checking import LARGEST_PAGE
from quorate.plugin.declarations import CONSTANT_KEY, METADATA_GROUP, Table
from quorate.plugin.node import Caller, NodeApi
from quorate.plugin.transaction import Txn
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from google.protobuf.descriptor import ServiceDescriptor

R = TypeVar("R", bound=Message)

#: Refuses a value, and is given the path of its field.
CheckField = Callable[[str, Any], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """How one verb of a resource is carried out, where the derived way does not do.

    What is left out is derived, as far as the verb is `Create`, `Update`, `Put` or `Delete`.
    """

    #: Carries out one item and returns its reply. It looks at all that it can refuse before it
    #: writes: the other items of the batch stay.
    apply: Callable[[Txn, Any], Message | None] | None = None
    #: Carries out the whole command, in place of `apply`: for a hot path, and for what a command
    #: says beside its items.
    apply_all: Callable[[Txn, Any], BatchReply] | None = None
    #: A method of the resource's servicer carries the verb out. With `apply` or `apply_all` it has
    #: a command to propose, which clients do not send; else there is none of that name.
    by_hand: bool = False
    #: What an item is answered with, where that is not the row.
    reply: type[Message] | None = None
    #: The key of an item, where it has not the fields of the row's key.
    key: Callable[[Any], bytes] | None = None
    #: The items of one command may name a row more than once: `apply` takes them in their order.
    repeats: bool = False
    #: Refuses an item that is wrong whatever is stored, and is given the path of the item.
    check: Callable[[Any, str], None] | None = None
    #: Refuses the whole command, for its keys and items, too: nothing else checks those first. Then
    #: one wrong item refuses the others, unless `check`, too, is given, which finds the wrong ones.
    validate: Callable[[Any], None] | None = None
    #: As in `Command`.
    admit: Callable[[NodeApi, Caller, Any], Awaitable[Any]] | None = None
    #: The command of a verb that no method of the service calls: an internal one.
    message: type[Message] | None = None
    #: Clients may send the command; None: those whose verb has a method.
    public: bool | None = None
    #: Families of others that it reads; the tenants are read anyhow.
    reads: tuple[str, ...] = ()
    #: Items for the conformance kit; those of derived verbs are made of the resource's examples.
    examples: tuple[Any, ...] = ()
    #: Whole commands in the place of items, where a command says more than its items.
    command_examples: tuple[Message, ...] = ()
    #: What its sender needs, where that is not to write the row.
    access: Access | None = None
    #: What a deletion takes along besides the row: the command line names it, and asks first.
    takes_along: str = ""


#: Finds the value of a row of a moment by its family and key.
Stored = Callable[[str, bytes], bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remake:
    """How clients make a row again that was there once, where its own fields do not say it all."""

    #: The verb that makes it, or replaces it.
    verb: str = "Put"
    #: Takes the row and a finder of others of the same moment, and returns the item of the verb;
    #: raises `Invalid` for a row that cannot be made.
    item: Callable[[Any, Stored], Message]


@dataclass(frozen=True, kw_only=True)
class Resource(Generic[R]):
    """Rows of one kind, and everything that is done with them.

    Family, commands, handlers, queries, the methods of the service, the deletion of a tenant's
    rows, the records of the clients, the command line, the table and the reference are derived.
    """

    #: The column family, `<plugin>.<plural noun>`.
    family: str
    #: What a row is stored as.
    row: type[R]
    #: `DESCRIPTOR.services_by_name["XService"]`: its methods are bound by their names.
    service: ServiceDescriptor
    #: The fields of the row that make up its key, in the order in which rows are listed; of a
    #: message within the row as in `id.tenant`.
    key: tuple[str, ...]
    #: The group of the family.
    group: str = METADATA_GROUP.name
    #: The first fields of the key, by which rows are spread over shards; none: one shard has all.
    shard_by: tuple[str, ...] = ()
    #: What gives the shard key of a key that has these fields: rows that share a part of a field
    #: share a shard; None: the fields as they are.
    shard_of: Callable[[bytes], bytes] | None = None
    #: Without `shard_by`: the shard key of all rows, which lie in one shard together.
    shard_key: bytes = CONSTANT_KEY
    #: What one row is called in messages; "": the name of the row's message in small letters.
    noun: str = ""
    #: The field that names the tenant: it must be there and is deleted with its rows.
    tenant: str = ""
    #: The name of the limit that bounds the rows of a tenant.
    limit: str = ""
    #: Refuses a row that is wrong whatever is stored, and is given the path of the row.
    check: Callable[[Any, str], None] | None = None
    #: What parts of the key must be; text that is not named here must be a name.
    check_key: Mapping[str, CheckField] = field(default_factory=dict)
    #: The reason with which a row that is not there is refused.
    missing: str = "NOT_FOUND"
    #: Fields that callers do not set; `created_at_ms` and `updated_at_ms` are among them anyhow.
    internal: tuple[str, ...] = ()
    #: Called before a row is written or deleted, with the row before and after, or None. It may
    #: complete the row, write what goes with it, and refuse by `Rejected` before it writes.
    changed: Callable[[Txn, R | None, R | None], None] | None = None
    #: A request's further conditions: returns what says whether a row is wanted, or None.
    keep: Callable[[Any], Callable[[R], bool] | None] | None = None
    #: Rows for the conformance kit and the reference, of different keys.
    examples: tuple[R, ...] = ()
    #: By name: what replaces a derived verb, or is one of the resource's own.
    verbs: Mapping[str, Verb] = field(default_factory=dict)
    #: The methods that are served, of a service that several resources share; (): all of them.
    serves: tuple[str, ...] = ()
    #: Makes what has methods in the place of derived ones, or of those that cannot be derived.
    servicer: Callable[[NodeApi], object] | None = None
    #: What is answered in the place of a row: a message with a field for it, or with its fields
    #: under the same numbers, and with its `revision`, if any. It has the fields of the key, too,
    #: where rows do not repeat what their keys say.
    answer: type[Message] | None = None
    #: The most keys of one lookup; less for large rows, which fit into one message together.
    lookups: int = LARGEST_PAGE
    #: The most rows that one command deletes with their tenant; less where much goes with each.
    deletions: int = LARGEST_PAGE
    #: What a caller of the servicer's own methods needs, as in `GrpcService`.
    access: Mapping[str, Access] = field(default_factory=dict)
    #: As in `ColumnFamily`.
    mirrored: bool = False
    #: As in `ColumnFamily`.
    previous: bool = False
    #: Takes a row, by its key, that went to another shard with its slot out of what this shard
    #: keeps of all its rows; see `ColumnFamily.departs`.
    departs: Callable[[Txn, bytes, bytes], None] | None = None
    #: As in `ColumnFamily`.
    counted: bool = False
    #: Whether the rows of a tenant are deleted with it; False: the plugin does that itself. A
    #: function returns the command that deletes the rows of keys, in the place of `Delete`.
    cascade: bool | Callable[[NodeApi, Sequence[bytes]], Message] = True
    #: How `quorate restore --beside` makes rows; None: by `Put` or `Create` that take all of a row.
    remake: Remake | None = None
    #: Whether `quorate <plugin>` gets the commands of this resource.
    cli: bool = True
    #: In the place of the derived table; False: there is none.
    table: Table | bool = True
