"""Mistakes of a resource that would show only once it is used.

A field of a request that nothing reads, a lacking part of the key, numbers that mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask

from quorate.plugin.access import RIGHTS
from quorate.plugin.checking import LARGEST_PAGE
from quorate.plugin.nearness import meant
from quorate.plugin.outcomes import Invalid
from quorate.plugin.resource.binding import (
    DERIVED,
    EXPECTED,
    MISSING_OK,
    Binding,
    Read,
    Write,
)
from quorate.plugin.resource.declaration import History, Resource, Ttl
from quorate.plugin.resource.reading import PAGING, check_key_of
from quorate.plugin.singles import has_field, is_repeated
from quorate.plugin.updates import UPDATE_MASK

#: The fault, and the fix.
Faults = Iterator[tuple[str, str]]

_FRESH: Final = ("stale", "min_revision")
#: What a request may have for another verb that shares it.
_SHARED: Final = (UPDATE_MASK, MISSING_OK, EXPECTED)
_INTEGERS: Final = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)


def mistakes_of(binding: Binding, families: Collection[str]) -> Faults:
    """Yield the mistakes of a bound resource; `families` are those of its plugin."""
    resource = binding.resource
    checks: Sequence[Callable[[], Faults]] = (
        lambda: _numbers(resource),
        lambda: _life(resource, families),
        lambda: _named(binding, families),
        lambda: _answer(resource),
        lambda: _examples(binding),
        *((lambda write=each: _write(binding, write)) for each in binding.writes.values()),
        *(
            (lambda verb=verb, read=each: _read(binding, verb, read))
            for verb, reads in binding.reads.items()
            for each in reads
        ),
        lambda: _alike(binding),
    )
    for check in checks:
        for what, fix in check():
            yield f"resource {resource.family} {what}", fix


def _numbers(resource: Resource[Any]) -> Faults:
    bounds = {"lookups": resource.serving.lookups, "deletions": resource.life.deletions}
    for name, value in bounds.items():
        if not 1 <= value <= LARGEST_PAGE:
            yield f"has {name}={value}", f"give it a number from 1 to {LARGEST_PAGE}"
    if isinstance(resource.life.limit, int) and resource.life.limit < 0:
        yield f"has limit={resource.life.limit}", "give it at least 1, or leave it out"
    if resource.life.history is not None and resource.life.history.keep < 1:
        yield f"has a history that keeps {resource.life.history.keep} states", "keep at least 1"


def _life(resource: Resource[Any], families: Collection[str]) -> Faults:
    known = resource.row.DESCRIPTOR.fields_by_name
    ttl: Ttl | None = resource.life.ttl
    if ttl is not None:
        field = known.get(ttl.field)
        if field is None:
            yield f"has a ttl of the unknown field {ttl.field!r}", meant(ttl.field, known)
        elif field.cpp_type not in _INTEGERS or is_repeated(field):
            yield (
                f"has a ttl of the field {ttl.field!r}, which is no number",
                "name an int64 field with milliseconds",
            )
        if "keys" not in ttl.expire.DESCRIPTOR.fields_by_name:
            yield (
                f"has a ttl with {ttl.expire.DESCRIPTOR.name}, which has no keys",
                "write `repeated bytes keys = 1;` in it",
            )
    history: History | None = resource.life.history
    if history is None:
        return
    if history.family not in families:
        yield (
            f"has a history in {history.family}, which is no resource of the plugin",
            meant(history.family, families, "return the resource of the former states too"),
        )
    wanted = (*resource.key, "number", "written_at_ms", "state")
    has = history.row.DESCRIPTOR.fields_by_name
    for name in wanted:
        if name not in has:
            yield (
                f"has a history of {history.row.DESCRIPTOR.name}, which has no field {name!r}",
                f"give it the fields {', '.join(wanted)}",
            )


def _named(binding: Binding, families: Collection[str]) -> Faults:
    """Check names that stand in a declaration for something else."""
    resource = binding.resource
    if resource.life.parent is not None and resource.life.parent.family not in families:
        yield (
            f"has the parent {resource.life.parent.family}, which is no resource of the plugin",
            "return the parent from quorate_resources too",
        )
    for name in resource.check_key:
        if name not in resource.key:
            yield f"has a check_key of {name!r}, no part of the key", meant(name, resource.key)
    if resource.view.remake is not None and resource.view.remake.verb not in binding.writes:
        verb = resource.view.remake.verb
        yield f"is remade by the unknown verb {verb}", meant(verb, binding.writes)
    for verb, spec in resource.verbs.items():
        write = binding.writes.get(verb)
        if spec.admission.by_hand and write is not None:
            for method in (*write.batches, *write.singles):
                if method not in binding.own:
                    yield (
                        f"has the verb {verb} by hand, and its servicer has no method {method}",
                        f"write `async def {method}(self, request, context)` in the servicer",
                    )
        if spec.admission.access is not None and spec.admission.access.right not in RIGHTS:
            right = spec.admission.access.right
            yield f"has the unknown access right {right!r} of {verb}", meant(right, RIGHTS)


def _answer(resource: Resource[Any]) -> Faults:
    """Check that an answer in the place of a row reads its bytes rightly."""
    if resource.serving.answer is None:
        return
    row, has = resource.row.DESCRIPTOR, resource.serving.answer.DESCRIPTOR
    if any(each.message_type is row for each in has.fields):
        return
    for field in row.fields:
        other = has.fields_by_number.get(field.number)
        if other is not None and (other.name, other.type) != (field.name, field.type):
            yield (
                f"has the answer {has.name} whose field {other.name} has the number "
                f"{field.number}, which is that of {row.name}.{field.name}",
                "give it another number, which neither message has used",
            )


def _examples(binding: Binding) -> Faults:
    resource = binding.resource
    seen: dict[bytes, int] = {}
    for position, row in enumerate(resource.examples):
        if not isinstance(row, resource.row):
            what = f"has an example {position} that is a {type(row).__name__}"
            yield what, f"give a {resource.row.DESCRIPTOR.name}"
            continue
        try:
            if binding.keyed is resource.row:
                check_key_of(binding, row, "")
                first = seen.setdefault(binding.key_of(row), position)
                if first != position:
                    yield (
                        f"has the examples {first} and {position} of one key",
                        "give each a key of its own",
                    )
            if resource.check is not None:
                resource.check(row, "")
        except Invalid as invalid:
            yield (
                f"has an example {position} that its own check refuses: {invalid}",
                "correct the example, or the check",
            )
        except Exception as error:  # noqa: BLE001 - whatever a check raises is reported
            yield (
                f"has a check that raised {type(error).__name__}: {error}, for example {position}",
                "let it raise Invalid alone",
            )


def _write(binding: Binding, write: Write) -> Faults:
    spec, resource = write.spec, binding.resource
    if spec.admission.by_hand:
        return
    command = write.command.DESCRIPTOR
    derived = write.verb in DERIVED and spec.apply is None and spec.apply_all is None
    if write.item is not None and spec.item.key is None:
        item = write.item.DESCRIPTOR
        wanted = resource.key if derived else resource.shard_by
        yield from _lacking(binding, item, wanted, f"the verb {write.verb}")
    if not derived:
        return
    own = {write.field, UPDATE_MASK} if write.verb == "Update" else {write.field}
    if write.verb == "Delete":
        own |= {MISSING_OK}
    if spec.checks.command is None and spec.admission.admit is None:
        yield from _ignored(command, own)
        if write.item is not None and write.item is not resource.row and spec.checks.item is None:
            yield from _ignored(write.item.DESCRIPTOR, _of_item(binding, write))
        for name, holder in write.singles.items():
            if holder:
                kind = resource.service.methods_by_name[name].input_type
                yield from _ignored(kind, {holder, *command.fields_by_name, *_SHARED})
    for kind in filter(None, (command, write.item and write.item.DESCRIPTOR)):
        mask = kind.fields_by_name.get(UPDATE_MASK)
        if mask is not None and mask.message_type is not FieldMask.DESCRIPTOR:
            yield (
                f"has the field {UPDATE_MASK} of {kind.name}, which is no mask",
                f"write `google.protobuf.FieldMask {UPDATE_MASK} = {mask.number};`",
            )
        expected = kind.fields_by_name.get(EXPECTED)
        if expected is not None and not expected.has_presence:
            yield (
                f"has the field {EXPECTED} of {kind.name} without presence",
                f"write `optional uint64 {EXPECTED} = {expected.number};`",
            )


def _of_item(binding: Binding, write: Write) -> set[str]:
    """Return the fields of a derived verb's item that something reads."""
    known = {EXPECTED, *(name.partition(".")[0] for name in binding.resource.key)}
    if write.verb == "Delete":
        return known | {MISSING_OK}
    if write.verb == "Update":
        known.add(UPDATE_MASK)
    return known | set(binding.resource.row.DESCRIPTOR.fields_by_name)


def _read(binding: Binding, verb: str, read: Read) -> Faults:
    request = read.request.DESCRIPTOR
    if verb == "Get":
        yield from _get(binding, read, request)
        return
    if verb != "Count":
        token = request.fields_by_name.get("page_token")
        if token is None or token.type != FieldDescriptor.TYPE_BYTES:
            near = meant("page_token", request.fields_by_name, "write `bytes page_token` in it")
            yield (
                f"has the method {read.method}, whose {request.name} has no page token: the "
                "second page cannot be asked for",
                f"name it `bytes page_token`; {near}",
            )
    row = binding.resource.row.DESCRIPTOR
    last = binding.parts[-1] if binding.parts else ""
    known = [*row.fields_by_name, *PAGING, f"{last}_prefix", *binding.parts[:-1]]
    for field in request.fields:
        of_row = row.fields_by_name.get(field.name)
        if field.name in known and (of_row is None or _same(of_row, field)):
            continue
        if of_row is not None and field.name not in PAGING:
            yield (
                f"has the condition {field.name} of {request.name}, which is of another type "
                f"than {row.name}.{field.name}",
                "give both the same type",
            )
        elif not _is_kept(binding.resource, read, field):
            yield (
                f"has the condition {field.name} of {request.name}, which nothing reads: all "
                "rows would come",
                f"name a field of {row.name} or let `keep` read it; {meant(field.name, known)}",
            )


def _get(binding: Binding, read: Read, request: Any) -> Faults:
    what = f"the method {read.method}"
    if read.many:
        item = request.fields_by_name[read.many].message_type
        if item is not None:
            yield from _lacking(binding, item, binding.resource.key, what)
        elif len(binding.resource.key) > 1:
            yield (
                f"has {what}, whose {read.many} are single words, and a key of "
                f"{len(binding.resource.key)} parts",
                "let it repeat a message with the fields of the key",
            )
        yield from _ignored(request, {read.many, *_FRESH})
        return
    if "." in "".join(binding.resource.key):
        return
    yield from _lacking(binding, request, binding.parts, what)
    yield from _ignored(request, {*binding.parts, *_FRESH, *_SHARED})


def _alike(binding: Binding) -> Faults:
    """Check that all lists say their conditions alike: a shard reads them all as the first."""
    lists = [each for verb in ("List", "Stream", "Count") for each in binding.reads.get(verb, ())]
    if not lists:
        return
    first, *others = (each.request.DESCRIPTOR for each in lists)
    for request in {each.full_name: each for each in others if each is not first}.values():
        for field in request.fields:
            other = first.fields_by_name.get(field.name)
            condition = field.name in binding.resource.row.DESCRIPTOR.fields_by_name
            if condition and (other is None or other.number != field.number):
                yield (
                    f"has the condition {field.name} of {request.name}, which {first.name} does "
                    "not have with that number",
                    f"let both methods take {first.name}, or give them the same fields",
                )


def _lacking(binding: Binding, kind: Any, wanted: Sequence[str], what: str) -> Faults:
    for path in wanted:
        if not has_field(kind, path):
            yield (
                f"has {what}, whose {kind.name} has no field {path!r} of the key",
                f"give it all parts of the key: {', '.join(binding.resource.key)}; "
                f"{meant(path, kind.fields_by_name, f'write it in {kind.name}')}",
            )


def _ignored(kind: Any, known: Collection[str]) -> Faults:
    for field in kind.fields:
        if field.name not in known:
            yield (
                f"has the field {field.name} of {kind.name}, which nothing reads",
                f"correct it or remove it; {meant(field.name, sorted(known))}",
            )


def _is_kept(resource: Resource[Any], read: Read, field: Any) -> bool:
    """Return whether `keep` looks at a field: it makes a predicate of it, or refuses it."""
    if resource.serving.keep is None:
        return False
    request = read.request()
    try:
        _fill(request, field)
        return resource.serving.keep(request) is not None
    except Exception:  # noqa: BLE001 - it looked at what was given
        return True


def _fill(message: Any, field: Any) -> None:
    if field.message_type is not None:
        one = getattr(message, field.name)
        one.add() if is_repeated(field) else one.SetInParent()
        return
    value: Any = 1
    if field.type == FieldDescriptor.TYPE_STRING:
        value = "x"
    elif field.type == FieldDescriptor.TYPE_BYTES:
        value = b"x"
    elif field.enum_type is not None:
        value = field.enum_type.values[-1].number
    if is_repeated(field):
        getattr(message, field.name).append(value)
    else:
        setattr(message, field.name, value)


def _same(field: Any, other: Any) -> bool:
    return (
        field.type == other.type
        and field.enum_type is other.enum_type
        and is_repeated(field) == is_repeated(other)
        and (field.message_type is other.message_type or (_is_map(field) and _is_map(other)))
    )


def _is_map(field: Any) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)
