"""One rule for all resources: put, updates of what is given, and deletes of what may be missing.

The rule is read from the descriptors of all services, and `docs/reference/resources.md` has to say
the same; what deletes do is tried with the examples of their commands.
"""

from __future__ import annotations

import re
from asyncio import run
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from quorate.plugin.discovery import installed
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply

EXAMPLES: Final = ("featureflags", "greeting", "notebook")
PLUGINS: Final = [each.name for each in installed() if each.name not in EXAMPLES]
NODE: Final = MemoryNode(PLUGINS)
TEXT: Final = (Path(__file__).parents[2] / "docs" / "reference" / "resources.md").read_text()
TABLE: Final = {
    name: cells.split(" | ")
    for name, cells in re.findall(r"^\| `([\w.]+)` \| (.+) \|$", TEXT, re.MULTILINE)
}
#: What begins the name of a method that writes rows which callers name.
WRITING: Final = re.compile(r"(Create|Put|Update|Delete|Unbind|Unregister|Register|Set)")
DELETING: Final = re.compile(r"(Delete|Unbind|Unregister)")
MISSING_OK: Final = "missing_ok"


def services() -> Iterator[ServiceDescriptor]:
    pool = descriptor_pool.Default()
    for declared in NODE.catalog.declared.values():
        for each in declared.services:
            yield pool.FindServiceByName(each.full_name)


SERVICES: Final = {
    each.full_name: each
    for each in services()
    if any(DELETING.match(method.name) for method in each.methods)
}


def items_of(request: Descriptor) -> list[Descriptor]:
    """Return a request, and the messages that it holds many of."""
    held = [
        field.message_type
        for field in request.fields
        if field.message_type is not None and field.is_repeated
    ]
    return [request, *held]


def gives_what_is_given(method: MethodDescriptor) -> bool:
    """Tell whether an update can say what it changes: by a mask, or by the presence of all."""
    mask = FieldMask.DESCRIPTOR.full_name
    candidates = items_of(method.input_type)
    if any(
        field.name == "update_mask" and field.message_type.full_name == mask
        for each in candidates
        for field in each.fields
        if field.message_type is not None
    ):
        return True
    named = {"tenant", "name", "client_id", "generation"}
    return all(field.has_presence for field in candidates[-1].fields if field.name not in named)


def named_like(service: ServiceDescriptor, verb: re.Pattern[str]) -> list[MethodDescriptor]:
    return [method for method in service.methods if verb.match(method.name)]


def test_the_page_has_every_resource() -> None:
    assert sorted(TABLE) == sorted(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
def test_the_page_says_what_the_descriptors_say(name: str) -> None:
    service = SERVICES[name]
    put = named_like(service, re.compile("Put"))
    updates = named_like(service, re.compile("Update"))
    deletes = named_like(service, DELETING)
    found = [
        bool(put),
        bool(updates) and all(map(gives_what_is_given, updates)),
        all(
            any(MISSING_OK in each.fields_by_name for each in items_of(method.input_type))
            for method in deletes
        ),
    ]

    for cell, has in zip(TABLE[name], found, strict=True):
        assert (cell == "yes") == has, f"{name}: {cell}"
        assert has or len(cell) > len("yes"), f"{name} needs a reason"


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_done_once_is_done_to_many(name: str) -> None:
    """A service with a batch of one verb has one of each."""
    methods = {method.name for method in SERVICES[name].methods}
    single = {verb for verb in ("Create", "Put", "Update", "Delete") if verb in methods}

    assert {f"{verb}Batch" for verb in single} <= methods


#: Those that may miss something by a flag, and those that always may.
DELETIONS: Final = {
    name: command
    for name, command in NODE.catalog.commands.items()
    if DELETING.match(name.rpartition(".")[2])
    or any(MISSING_OK in each.fields_by_name for each in items_of(command.message.DESCRIPTOR))
}


def test_every_delete_is_tried() -> None:
    assert len(DELETIONS) >= 20


@pytest.mark.parametrize("name", DELETIONS)
def test_a_delete_of_what_is_missing_writes_nothing(name: str) -> None:
    node = MemoryNode(PLUGINS, at_ms=1_000)
    before = node.digest()
    for example in DELETIONS[name].examples:
        command = type(example)()
        command.CopyFrom(example)
        for each in allowed(command):
            setattr(each, MISSING_OK, True)

        reply = run(node.propose(command, Message))

        assert not (isinstance(reply, BatchReply) and reply.refusals), reply
    assert not node.events
    assert node.digest() == before


def allowed(command: Message) -> Iterator[Message]:
    """Yield the messages within a command that can say that what they name may be missing."""
    if MISSING_OK in command.DESCRIPTOR.fields_by_name:
        yield command
    for field, value in command.ListFields():
        if field.is_repeated and field.message_type is not None:
            yield from (each for each in value if MISSING_OK in each.DESCRIPTOR.fields_by_name)


def items_with_a_tenant() -> Iterator[tuple[str, str, object, object]]:
    """Yield commands with the tenant that an example's item names, and what is made of it."""
    for name, command in NODE.catalog.commands.items():
        if not command.public or command.items is None:
            continue
        for item in command.items.get(command.examples[0]):
            holder = next((getattr(item, each, None) for each in ("task", "id")), item) or item
            tenant = getattr(holder, "tenant", "")
            if tenant:
                charged = command.items.tenant and command.items.tenant(item)
                access = command.access
                yield name, tenant, charged, access and next(access.touched(item))[0]


#: Their rows are of no tenant, and say for which one they are.
FOR_A_TENANT: Final = {"quorate_storage_engine.v1.CreateShards"}


def test_what_names_a_tenant_is_held_against_its_rights_and_charged_to_it() -> None:
    found = [each for each in items_with_a_tenant() if each[0] not in FOR_A_TENANT]

    assert {name for name, *_ in found} > {
        "quorate_connector.v1.StoreCursors",
        "quorate_mqtt.v1.SetSubscriptions",
        "quorate_mqtt.v1.JoinSharedGroups",
        "quorate_offset.v1.CommitOffsetsRequest",
    }
    for name, tenant, charged, held in found:
        assert (charged, held) == (tenant, tenant), name
