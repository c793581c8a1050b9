"""The access that callers of a resource need: derived from its tenant and its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quorate.plugin.access import Access, Place, cluster_place, tenant_place
from quorate.plugin.resource.binding import Binding, Read, Write
from quorate.plugin.singles import has_field


def place_of(binding: Binding) -> Callable[[bytes], Place]:
    """Return a function from a row's key to its place."""
    return tenant_place if binding.tenant else cluster_place


def access_of_write(binding: Binding, write: Write) -> Access:
    """Return the access that a verb's command requires for each item."""
    if write.spec.admission.access is not None:
        return write.spec.admission.access
    family, names = binding.resource.family, binding.resource.key[:2]
    if write.item is None and write.key_is_text and not binding.tenant:
        return Access(right="write", domain=family)
    item = None if write.item is None else write.item.DESCRIPTOR
    of_row = item is not None and write.spec.item.key is None
    if of_row and all(has_field(item, name) for name in names):
        tenant, key = _tenant_and_key(binding, binding.resource.key)
        return Access(right="write", domain=family, tenant=tenant, key=key)
    key_of, place = binding.key_of_item(write), place_of(binding)

    def places(item: Any) -> tuple[Place]:
        try:
            return (place(key_of(item)),)
        except ValueError:
            # It is not the key of a row: its sender needs the right on all of them.
            return (("", ""),)

    return Access(right="write", domain=family, places=places)


def access_of_read(binding: Binding, verb: str, read: Read) -> Access:
    """Return the access that a reading method requires."""
    family = binding.resource.family
    if verb != "Get":
        tenant = binding.parts[0] if binding.tenant else ""
        named = tenant in read.request.DESCRIPTOR.fields_by_name
        return Access(right="read", domain=family, tenant=tenant if named else "", filtered=True)
    held = read.request.DESCRIPTOR
    if read.many:
        asked = held.fields_by_name[read.many].message_type
        if asked is None:
            return Access(right="read", domain=family, items=read.many)
        tenant, key = _tenant_and_key(binding, binding.resource.key)
        return Access(right="read", domain=family, items=read.many, tenant=tenant, key=key)
    holder = binding.holder_in(held)
    parts = [f"{holder}.{part}" if holder else part for part in binding.parts]
    tenant, key = _tenant_and_key(binding, parts)
    return Access(right="read", domain=family, tenant=tenant, key=key)


def needs_of(binding: Binding) -> tuple[Mapping[str, Access], frozenset[str]]:
    """Return the access that each method requires, and the methods checked by their commands."""
    found: dict[str, Access] = {}
    by_command: set[str] = set()
    for write in binding.writes.values():
        if write.spec.admission.by_hand:
            continue
        access = access_of_write(binding, write)
        held = {**dict.fromkeys(write.batches, write.field), **write.singles}
        found.update({name: replace(access, items=field) for name, field in held.items()})
        by_command.update(held)
    for verb, reads in binding.reads.items():
        found.update({read.method: access_of_read(binding, verb, read) for read in reads})
    return found | dict(binding.resource.serving.access), frozenset(by_command)


def _tenant_and_key(binding: Binding, parts: Sequence[str]) -> tuple[str, str]:
    if not binding.tenant:
        return "", parts[0]
    return parts[0], parts[1] if len(parts) > 1 else ""
