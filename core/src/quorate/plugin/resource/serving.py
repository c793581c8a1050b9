"""The derived methods of a service: each becomes a command or a read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from google.protobuf.message import Message

from quorate.plugin.checking import check_each
from quorate.plugin.declarations import GrpcService
from quorate.plugin.invalid_items import propose_valid
from quorate.plugin.node import NodeApi
from quorate.plugin.outcomes import Invalid
from quorate.plugin.resource.binding import EXPECTED, Binding, Write, renamed
from quorate.plugin.resource.needs import needs_of
from quorate.plugin.resource.reading import Reads, check_key_of, check_part
from quorate.plugin.services import method_of
from quorate.plugin.singles import only_reply
from quorate.plugin.splicing import encoded
from quorate.plugin.updates import UPDATE_MASK, Updates
from quorate.v1.batch_pb2 import BatchReply

CheckItem = Callable[[Any, str], None]


def check_item_of(binding: Binding, write: Write) -> Callable[[Message], CheckItem]:
    """Return the check that refuses items of a command without reading stored rows."""
    check = write.spec.checks.item
    resource = binding.resource
    if write.verb in ("Create", "Put", "Update") and check is None:
        check = resource.check
    named = write.item is not None and all(map(write.has, resource.key))
    text = write.item is None and write.key_is_text
    deletes = write.verb == "Delete" and write.has(EXPECTED)

    def check_item(item: Any, path: str) -> None:
        if named:
            check_key_of(binding, item, path)
        elif text:
            check_part(binding, resource.key[0], item, path.removesuffix("."))
        if deletes and item.HasField(EXPECTED) and item.expected_revision == 0:
            reason = f"must be that of a {binding.noun}, or absent for any revision"
            raise Invalid(f"{path}{EXPECTED}", reason)
        if check is not None:
            check(item, path)

    if write.verb != "Update" or write.spec.apply or write.spec.apply_all:
        return lambda _: check_item
    updates = Updates(fixed=binding.fixed)

    def check_update(command: Message) -> CheckItem:
        mask = write.mask(command)
        mask_path = UPDATE_MASK if write.masked else ""
        return lambda item, path: updates.check(
            item, path, whole=check_item, mask=mask, mask_path=mask_path
        )

    return check_update


def validate_of(binding: Binding, write: Write) -> Callable[[Message], None]:
    """Return the function that refuses a command with an invalid item."""
    if write.spec.checks.command is not None:
        return write.spec.checks.command
    check_of = check_item_of(binding, write)
    return lambda command: check_each(write.field, write.items(command), check_of(command))


def methods_of(binding: Binding) -> Mapping[str, Callable[[NodeApi, Any], Any]]:
    """Return the derived methods of a resource, by name."""
    found: dict[str, Callable[[NodeApi, Any], Any]] = {}
    for write in binding.writes.values():
        if write.spec.admission.by_hand:
            continue
        for name in write.batches:
            found[name] = _batch(binding, write)
        for name, holder in write.singles.items():
            found[name] = _single(write, holder)
    reads = Reads(binding)
    for verb, declared in binding.reads.items():
        for read in declared:
            run = {
                "Get": reads.get_many if read.many else reads.get,
                "List": reads.page,
                "Stream": reads.stream,
                "Count": reads.count,
            }[verb]
            found[read.method] = partial(run, read)
    return found


def _batch(binding: Binding, write: Write) -> Callable[[NodeApi, Any], Any]:
    check_of = check_item_of(binding, write)

    async def propose_all(node: NodeApi, request: Any) -> BatchReply:
        return await node.propose(request, BatchReply)

    if write.spec.checks.command is not None and write.spec.checks.item is None:
        return propose_all

    async def propose_each(node: NodeApi, request: Any) -> BatchReply:
        return await propose_valid(node, request, write.field, check_of(request))

    return propose_each


def _single(write: Write, holder: str) -> Callable[[NodeApi, Any], Any]:
    async def propose_one(node: NodeApi, request: Any) -> bytes:
        item = getattr(request, holder) if holder else request
        command = write.of([item], request if holder else None)
        try:
            reply = await node.propose(command, BatchReply)
        except Invalid as invalid:
            raise renamed(invalid, write, holder) from None
        return only_reply(reply)

    return propose_one


class Servicer:
    """The methods of a service: derived ones, and those of the resources' own servicers.

    Derived methods answer in the wire form; with `parsed` they answer messages, as tests want.
    """

    def __init__(self, node: NodeApi, bindings: Sequence[Binding], *, parsed: bool = False) -> None:
        self._made_of: Final = (node, bindings)
        service = bindings[0].resource.service
        own = [
            make(node)
            for make in dict.fromkeys(each.resource.serving.servicer for each in bindings)
            if make
        ]
        derived = {name: each for binding in bindings for name, each in methods_of(binding).items()}
        for method in map(method_of, service.methods):
            found = next((o for o in own if callable(getattr(o, method.name, None))), None)
            if found is not None:
                setattr(self, method.name, getattr(found, method.name))
            elif method.name in derived:
                read = method.response.FromString if parsed else None
                setattr(self, method.name, _bound(derived[method.name], node, method.kind, read))

    def remade(self) -> Servicer:
        """Return the same servicer with methods that answer messages."""
        return Servicer(*self._made_of, parsed=True)


def service_of(bindings: Sequence[Binding]) -> GrpcService:
    """Return the declaration of the service that resources share."""
    needs = [needs_of(each) for each in bindings]
    return GrpcService(
        service=bindings[0].resource.service,
        servicer=lambda node: Servicer(node, bindings),
        access={name: access for found, _ in needs for name, access in found.items()},
        by_command=frozenset(name for _, found in needs for name in found),
    )


def _bound(method: Any, node: NodeApi, kind: str, read: Any) -> Callable[[Any, Any], Any]:
    """Return a method as a server calls it."""
    if kind == "unary_stream":

        async def stream(request: Any, _: object) -> AsyncIterator[Any]:
            async for each in method(node, request):
                yield each if read is None else read(encoded(each))

        return stream
    if read is None:

        async def answer(request: Any, _: object) -> Any:
            return await method(node, request)

        return answer

    async def parsed(request: Any, _: object) -> Any:
        return read(encoded(await method(node, request)))

    return parsed
