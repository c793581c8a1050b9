"""Derives the requests of a service's methods from its descriptor: nothing is registered.

The convention is written down in `docs/explanation/resources.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field as made, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from quorate.plugin import keys
from quorate.plugin.nearness import meant
from quorate.plugin.outcomes import Invalid
from quorate.plugin.resource.declaration import Resource, Verb
from quorate.plugin.singles import COMMAND, has_field, is_repeated
from quorate.plugin.updates import UPDATE_MASK
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from google.protobuf.descriptor import MethodDescriptor

#: The verbs whose handlers are derived.
DERIVED: Final = ("Create", "Update", "Put", "Delete")
#: Derived as well, of resources that say their messages; no client sends them.
SWEEP: Final = "Sweep"
EXPIRE: Final = "Expire"
_READS: Final = ("Get", "List", "Stream", "Count")
_ALIASES: Final = {"StreamList": "Stream"}
_BATCH: Final = "Batch"
#: The fields that the host sets.
CREATED: Final = "created_at_ms"
DELETING: Final = "deleting_at_ms"
UPDATED: Final = "updated_at_ms"
MISSING_OK: Final = "missing_ok"
EXPECTED: Final = "expected_revision"
TOKEN: Final = "next_page_token"


KeyOf = Callable[[Any], bytes]


@dataclass(frozen=True, kw_only=True)
class Write:
    """A verb that changes something: its command, and the methods that send it."""

    verb: str
    spec: Verb
    command: type[Any]
    #: The repeated field of the command that holds the items.
    field: str
    #: What an item is; None: text or bytes.
    item: type[Message] | None
    #: The methods whose request is the command.
    batches: tuple[str, ...] = ()
    #: The methods that send a batch of one, and the field of their request that holds the item;
    #: "": the request is the item.
    singles: Mapping[str, str] = made(default_factory=dict)

    def items(self, command: Message) -> Sequence[Any]:
        """Return the items of a command; each is made anew when it is asked for."""
        found: Sequence[Any] = getattr(command, self.field)
        return found

    def of(self, items: Sequence[Any], like: Message | None = None) -> Message:
        """Return the command with these items, and the other fields that it shares with `like`."""
        held: dict[str, Any] = {}
        if like is not None:
            known = self.command.DESCRIPTOR.fields_by_name
            held = {each.name: value for each, value in like.ListFields() if each.name in known}
        command: Message = self.command(**{**held, self.field: items})
        return command

    def has(self, name: str) -> bool:
        """Return whether an item has a field of that name."""
        return self.item is not None and name in self.item.DESCRIPTOR.fields_by_name

    @cached_property
    def key_is_text(self) -> bool:
        """Whether an item is the name of a row, and not the bytes of its key."""
        held = self.command.DESCRIPTOR.fields_by_name[self.field]
        return self.item is None and held.type == FieldDescriptor.TYPE_STRING

    def mask(self, command: Message) -> FieldMask | None:
        """Return the mask that stands beside the items, if there is room for one."""
        return getattr(command, UPDATE_MASK) if self.masked else None

    @cached_property
    def masked(self) -> bool:
        """Whether the mask of an update stands beside the items."""
        return UPDATE_MASK in self.command.DESCRIPTOR.fields_by_name


@dataclass(frozen=True, kw_only=True)
class Read:
    """A method that reads."""

    method: str
    request: type[Message]
    response: type[Message]
    #: The field of the request that holds many keys; "": it holds one key, or a page is asked for.
    many: str = ""
    #: The field of the response that holds the rows.
    rows: FieldDescriptor | None = None


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A resource bound to the methods of its service."""

    resource: Resource[Any]
    writes: Mapping[str, Write]
    #: By verb: `Get`, `List`, `Stream` and `Count`; a verb may have several methods.
    reads: Mapping[str, tuple[Read, ...]]
    #: The mismatches, each as a fault and a fix.
    problems: tuple[tuple[str, str], ...]
    #: The methods that the resource's own servicer has to have.
    own: tuple[str, ...] = ()
    #: As `reads`, with those of the own methods that are asked in the same way.
    asked: Mapping[str, tuple[Read, ...]] = made(default_factory=dict)

    @cached_property
    def noun(self) -> str:
        """The noun for one row."""
        return self.resource.view.noun or spaced(self.resource.row.DESCRIPTOR.name)

    @cached_property
    def keyed(self) -> type[Message]:
        """The message with the fields of the key: the row, or the answer in its place."""
        resource = self.resource
        known = resource.row.DESCRIPTOR.fields_by_name
        if resource.serving.answer is None or all(name in known for name in resource.key):
            return resource.row
        return resource.serving.answer

    @cached_property
    def key_of(self) -> KeyOf:
        """Return the key that an item or a row names."""
        fields = self.resource.key
        if not fields:
            return lambda _: b""
        return packer(fields)

    def key_of_item(self, write: Write) -> Callable[[Any], bytes]:
        """Return a function that finds the key of a verb's item: bytes are keys, text is a name."""
        if write.spec.item.key is not None:
            return write.spec.item.key
        if write.item is not None:
            return self.key_of
        return keys.pack if write.key_is_text else bytes

    @cached_property
    def shard_of(self) -> Callable[[bytes], bytes]:
        """Return the shard key of a row's key."""
        count = len(self.resource.shard_by)
        if not count:
            return self._only_shard
        if self.resource.storage.shard_of is not None:
            return self.resource.storage.shard_of
        if count == len(self.resource.key):
            return bytes
        return lambda key: keys.pack(*keys.unpack(key)[:count])

    def shard_of_item(self, write: Write) -> Callable[[Any], bytes]:
        """Return the shard key of a verb's items."""
        fields = self.resource.shard_by
        if not fields:
            return self._only_shard
        key_of = self.key_of_item(write)
        shard_of = self.resource.storage.shard_of
        if shard_of is None and len(fields) == len(self.resource.key):
            return key_of
        if shard_of is not None or not all(map(write.has, fields)):
            shard_of = self.shard_of
            return lambda item: shard_of(key_of(item))
        return packer(fields)

    @property
    def tenant(self) -> str:
        """The field of a row's tenant, the first of the key; "": rows are the cluster's own.

        Rows that belong to rows with a tenant need not declare it.
        """
        first = self.resource.key[0] if self.resource.key else ""
        return first if first.rpartition(".")[2] == "tenant" else ""

    def tenant_of_item(self, write: Write) -> Callable[[Any], str] | None:
        """Return a function that finds the tenant of a verb's item; None: items have no tenant."""
        tenant = self.tenant
        if not tenant:
            return None
        if write.has(tenant.partition(".")[0]):
            return attrgetter(tenant)
        key_of = self.key_of_item(write)
        return lambda item: str(keys.unpack(key_of(item))[0])

    def _only_shard(self, _: object) -> bytes:
        return self.resource.storage.shard_key

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names of the key's parts in requests."""
        return tuple(name.rpartition(".")[2] for name in self.resource.key)

    def holder_in(self, kind: Any) -> str:
        """Return the field of a message that holds the key, as one of the row does; "": none."""
        row = self.resource.row.DESCRIPTOR.fields_by_name
        root = row.get(self.resource.key[0].rpartition(".")[0])
        if root is None:
            return ""
        named = (each for each in kind.fields if each.message_type is root.message_type)
        return str(next(named).name)

    def named(self, item: Any) -> str:
        """Return the name of a row in messages: the parts of its key, from last to first."""
        if isinstance(item, str):
            return item
        get = [str(attrgetter(name)(item)) for name in self.resource.key]
        return " of ".join(reversed(get))

    @cached_property
    def stamped(self) -> bool:
        """Whether rows have the time of their last write."""
        return UPDATED in self.resource.row.DESCRIPTOR.fields_by_name

    @cached_property
    def fixed(self) -> frozenset[str]:
        """The fields that no update changes."""
        resource = self.resource
        return frozenset({*resource.key, *resource.serving.internal, CREATED, UPDATED, EXPECTED})


def packer(fields: Sequence[str]) -> KeyOf:
    """Return the function that packs these fields of a message."""
    get: Callable[[Any], Any] = attrgetter(*fields)
    if len(fields) > 1:
        return lambda item: keys.pack(*get(item))
    return lambda item: keys.pack(get(item))


def bind(resource: Resource[Any]) -> Binding:
    """Bind a resource to the methods of its service; nothing is raised."""
    found = _cache.get(id(resource))
    if found is None or found.resource is not resource:
        found = _cache[id(resource)] = _Binder(resource).bound()
    return found


_cache: Final[dict[int, Binding]] = {}


def _internal_verbs(resource: Resource[Any]) -> dict[str, Verb]:
    """Return the verbs that no client sends: they end rows."""
    found = {}
    if resource.life.sweep is not None:
        found[SWEEP] = Verb(message=resource.life.sweep)
    if resource.life.ttl is not None:
        found[EXPIRE] = Verb(message=resource.life.ttl.expire)
    return found


class _Binder:
    """Looks at one service."""

    def __init__(self, resource: Resource[Any]) -> None:
        self._resource: Final = resource
        self._problems: Final[list[tuple[str, str]]] = []
        self._row: Final = resource.row.DESCRIPTOR
        self._verbs: Final = {**resource.verbs, **_internal_verbs(resource)}
        names = resource.serving.methods or tuple(each.name for each in resource.service.methods)
        self._methods: Final = {
            name: resource.service.methods_by_name[name]
            for name in names
            if name in resource.service.methods_by_name
        }
        for name in names:
            if name not in self._methods:
                known = resource.service.methods_by_name
                self._problem(f"serves {name}, which the service lacks", meant(name, known))

    def bound(self) -> Binding:
        resource = self._resource
        self._check_fields()
        by_verb: dict[str, list[MethodDescriptor]] = {}
        own = []
        own_reads: dict[str, list[MethodDescriptor]] = {}
        for method in self._methods.values():
            if resource.serving.servicer is not None and hasattr(
                resource.serving.servicer, method.name
            ):
                own.append(method.name)
                spec = resource.verbs.get(self._verb(method.name))
                if spec is None or not spec.admission.by_hand:
                    own_reads.setdefault(self._verb(method.name), []).append(method)
                    continue
            by_verb.setdefault(self._verb(method.name), []).append(method)
        writes, reads = {}, {}
        for verb in dict.fromkeys([*by_verb, *self._verbs]):
            methods = by_verb.get(verb, [])
            if verb in _READS and verb not in resource.verbs:
                reads[verb] = self._reads(methods)
            elif verb in DERIVED or verb in self._verbs:
                write = self._write(verb, methods)
                if write is not None:
                    writes[verb] = write
            else:
                for method in methods:
                    if method.name not in own:
                        fix = (
                            f"give it verbs={{{verb!r}: Verb(apply=...)}}, let its servicer have "
                            f"{method.name}, or remove the rpc from the .proto file"
                        )
                        self._problem(
                            f"has the method {method.name} and no verb {verb}",
                            meant(verb, self._verbs, fix),
                        )
        if resource.tenant and resource.life.cascade is True and "Delete" not in writes:
            self._problem(
                "has a tenant and no verb Delete",
                "add `rpc Delete` to the service, or life=Life(cascade=False)",
            )
        problems = tuple(self._problems)
        asked = {verb: self._reads(own_reads.get(verb, [])) for verb in _READS}
        return Binding(
            resource=resource,
            writes=writes,
            reads=reads,
            problems=problems,
            own=tuple(own),
            asked=reads | {verb: found for verb, found in asked.items() if found},
        )

    def _reads(self, methods: Sequence[MethodDescriptor]) -> tuple[Read, ...]:
        return tuple(filter(None, map(self._read, methods)))

    def _check_fields(self) -> None:
        resource, known = self._resource, dict(self._row.fields_by_name)
        if resource.serving.answer is not None:
            known |= resource.serving.answer.DESCRIPTOR.fields_by_name
        for method in self._methods.values():
            if self._verb(method.name) == "Get":
                known |= method.input_type.fields_by_name
        if not resource.key:
            self._problem("has no key", "name the fields of the row that make it up")
        for what, names in (
            ("key", resource.key),
            ("shard_by", resource.shard_by),
            ("internal", resource.serving.internal),
            ("tenant", filter(None, [resource.tenant])),
        ):
            for name in names:
                if not has_field(self._row, name) and name not in known:
                    self._problem(
                        f"names {name!r} in {what}, and {self._row.name} has no such field",
                        meant(name, known),
                    )
        if resource.shard_by != resource.key[: len(resource.shard_by)]:
            self._problem("has a shard_by that does not begin its key", "begin the key with it")
        if resource.tenant and resource.key[:1] != (resource.tenant,):
            self._problem("has a tenant that does not begin its key", "begin the key with it")
        if isinstance(resource.life.limit, str):
            if resource.life.limit and not resource.tenant:
                self._problem("has a limit and no tenant", "name the field of the tenant")
        elif resource.life.limit and resource.life.parent is None:
            self._problem("has a limit and no parent", "name the parent")
        if resource.life.parent is not None:
            self._check_parent(resource.life.parent)

    def _check_parent(self, parent: Resource[Any]) -> None:
        resource, count = self._resource, len(parent.key)
        if count >= len(resource.key):
            self._problem(
                f"has a key of {len(resource.key)} parts, and its parent {parent.family} one of "
                f"{count}",
                f"begin the key with the {count} parts of the parent's, and add one",
            )
        same = (resource.group, len(resource.shard_by)) == (parent.group, len(parent.shard_by))
        if (
            not same
            or len(resource.shard_by) > count
            or resource.storage.shard_of
            or parent.storage.shard_of
        ):
            self._problem(
                f"does not lie in the shards of its parent {parent.family}",
                "give both the same group, and a shard_by of as many first parts of the key",
            )
        if parent.life.sweep is None or DELETING not in parent.serving.internal:
            self._problem(
                f"has the parent {parent.family}, which cannot be deleted in steps",
                f"give the parent a sweep, and its row an internal field `int64 {DELETING}`",
            )

    def _verb(self, name: str) -> str:
        """Return the verb of a method: its name without `Batch`, the row's name and its plural.

        Of a row's name its last words are enough, as `Group` of `SubscriptionGroup`.
        """
        name = name.removesuffix(_BATCH)
        if name.endswith("s") and name[:-1] in self._methods:
            name = name[:-1]
        if name in self._resource.verbs:
            return name
        words = [each.capitalize() for each in spaced(self._row.name).split()]
        for noun in ("".join(words[first:]) for first in range(len(words))):
            for each in (plural(noun), noun):
                if name.endswith(each) and name != each:
                    name = name.removesuffix(each)
                    return _ALIASES.get(name, name)
        return _ALIASES.get(name, name)

    def _write(self, verb: str, methods: Sequence[MethodDescriptor]) -> Write | None:
        spec = self._verbs.get(verb, Verb())
        if (
            verb not in (*DERIVED, SWEEP, EXPIRE)
            and not spec.admission.by_hand
            and (spec.apply is None) == (spec.apply_all is None)
        ):
            self._problem(
                f"has a verb {verb} with {'neither' if spec.apply is None else 'both'} of apply "
                "and apply_all",
                "give it one of them",
            )
            return None
        answer = BatchReply.DESCRIPTOR.full_name
        batches = [each for each in methods if each.output_type.full_name == answer]
        if not batches and spec.message is None:
            if not methods:
                self._problem(
                    f"has a verb {verb}, and {self._resource.service.name} has no such method",
                    f"add `rpc {verb}(...) returns (quorate.v1.BatchReply)`, or give the verb the "
                    "message of an internal command",
                )
            for each in methods:
                self._problem(
                    f"has the method {each.name}, which answers {each.output_type.name}",
                    f"let `{verb}` or `{verb}Batch` answer quorate.v1.BatchReply: every verb is "
                    "one command with many items",
                )
            return None
        command = spec.message or GetMessageClass(batches[0].input_type)
        held = _repeated(command.DESCRIPTOR, self._resource.key)
        if held is None:
            self._problem(
                f"has the verb {verb}, and {command.DESCRIPTOR.name} has no repeated items",
                f"write `repeated {self._row.name} {plural(self._row.name).lower()} = 1;` in it",
            )
            return None
        singles = {}
        for each in methods:
            if each in batches:
                continue
            holder = _holder(each.input_type, held)
            if holder is None:
                self._problem(
                    f"has the method {each.name}, whose {each.input_type.name} holds no "
                    f"{held.message_type.name if held.message_type else 'item'}",
                    "let its request be the item of the batch, or a message with a field of it",
                )
            else:
                singles[each.name] = holder
        return Write(
            verb=verb,
            spec=spec,
            command=command,
            field=held.name,
            item=None if held.message_type is None else GetMessageClass(held.message_type),
            batches=tuple(each.name for each in batches),
            singles=singles,
        )

    def _read(self, method: MethodDescriptor) -> Read | None:
        request, response = method.input_type, method.output_type
        answer = self._resource.serving.answer
        shown = (answer or self._resource.row).DESCRIPTOR.full_name
        verb = self._verb(method.name)
        read = Read(
            method=method.name,
            request=GetMessageClass(request),
            response=GetMessageClass(response),
        )
        if verb == "Count":
            return read
        many = _repeated(request, self._resource.key)
        held = next((each for each in response.fields if _holds(each, shown)), None)
        if verb == "Get" and many is None:
            if response.full_name == shown:
                return read
        elif held is not None and (verb == "Get" or TOKEN in response.fields_by_name):
            named = many.name if many is not None and verb == "Get" else ""
            return replace(read, many=named, rows=held)
        wanted = shown if verb == "Get" and many is None else f"a message with `repeated {shown}`"
        self._problem(
            f"has the method {method.name}, which answers {response.name}",
            f"let it answer {wanted}" + ("" if verb == "Get" else f" and `bytes {TOKEN}`"),
        )
        return None

    def _problem(self, what: str, fix: str) -> None:
        self._problems.append((f"resource {self._resource.family} {what}", fix))


def set_field(message: Message, name: str, value: Any) -> None:
    """Write a field of any kind from the same one of another message."""
    kind: Any = type(message)
    message.ClearField(name)
    message.MergeFrom(kind(**{name: value}))


def inner_field(field: Any, kind: Any) -> FieldDescriptor:
    """Return the field of a message within a field that holds a message of that kind."""
    found: FieldDescriptor = next(
        each for each in field.message_type.fields if each.message_type is kind
    )
    return found


def spaced(name: str) -> str:
    """Return a name in capitals and small letters as words."""
    out = "".join(f" {each.lower()}" if each.isupper() else each for each in name)
    return out.strip()


def plural(name: str) -> str:
    """Return the plural of a message's name."""
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def command_noun(resource: Resource[Any]) -> str:
    """Return the word for a resource in commands: `acl-rule` for the family `mqtt.acl_rules`."""
    many = resource.family.partition(".")[2].replace("_", "-")
    one = spaced(resource.row.DESCRIPTOR.name).replace(" ", "-")
    if plural(one) == many:
        return one
    return f"{many[:-3]}y" if many.endswith("ies") else many.removesuffix("s")


def renamed(invalid: Invalid, write: Write, holder: str) -> Invalid:
    """Return the fault of the item of a batch of one, with the field as in its single request."""
    path = f"{write.field}[0]"
    if invalid.field == path:
        return Invalid(holder or COMMAND, invalid.reason)
    rest = invalid.field.removeprefix(f"{path}.")
    if rest == invalid.field:
        return invalid
    return Invalid(f"{holder}.{rest}" if holder else rest, invalid.reason)


def _repeated(message: Any, key: Sequence[str]) -> FieldDescriptor | None:
    """Return the one repeated field of a message, unless the message has a key of its own."""
    if set(key) <= set(message.fields_by_name):
        return None
    found = [each for each in message.fields if is_repeated(each)]
    return found[0] if len(found) == 1 else None


def _holder(request: Descriptor, held: FieldDescriptor) -> str | None:
    if held.message_type is None:
        return None
    if request.full_name == held.message_type.full_name:
        return ""
    for each in request.fields:
        kind = None if is_repeated(each) else each.message_type
        if kind is not None and kind.full_name == held.message_type.full_name:
            return each.name
    return None


def _holds(field: FieldDescriptor, shown: str) -> bool:
    """Return whether a field holds many rows, or many messages with a row inside."""
    kind = field.message_type
    if kind is None or not is_repeated(field):
        return False
    within = (each.message_type for each in kind.fields)
    return any(each is not None and each.full_name == shown for each in (kind, *within))
