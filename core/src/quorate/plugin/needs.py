"""The access that each method requires of its callers, from the declarations of the plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from quorate.plugin.access import Access, Rights
from quorate.plugin.services import methods_of
from quorate.plugin.singles import has_field

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, ServiceDescriptor

    from quorate.plugin.catalog import Catalog
    from quorate.plugin.declarations import ColumnFamily, Command, GrpcService

#: What is needed where nothing is declared.
UNDECLARED = Access(right="admin")


class Need(NamedTuple):
    """The access that a method requires of its callers."""

    access: Access
    #: The domain of the access.
    domain: str
    #: The command that the method sends is checked instead, for each of its items.
    by_command: bool = False


def needs_of_service(
    plugin: str, service: GrpcService, commands: Mapping[str, Command[Any]]
) -> Mapping[str, Need]:
    """Return the access that the methods of a plugin's service require, by method name."""
    found = {}
    for method in methods_of(service.service):
        access, by_command = service.access.get(method.name), method.name in service.by_command
        command = commands.get(method.request.DESCRIPTOR.full_name)
        if access is None and command is not None and command.public:
            access, by_command = command.access, True
        access = access or UNDECLARED
        found[method.name] = Need(access, access.domain or plugin, by_command)
    return found


def needs_of_core(
    service: ServiceDescriptor, access: Mapping[str, Access], domain: str
) -> Mapping[str, Need]:
    """Return the access that the methods of a core service require, by method name."""
    named = ((each.name, access.get(each.name, UNDECLARED)) for each in service.methods)
    return {name: Need(found, found.domain or domain) for name, found in named}


def domain_of(catalog: Catalog, command: str) -> str:
    """Return the domain that a command's sender needs a right on."""
    for plugin, declared in catalog.declared.items():
        for each in declared.commands:
            if each.message.DESCRIPTOR.full_name == command:
                return each.access.domain if each.access and each.access.domain else plugin
    raise LookupError(f"command {command} is not declared")


def misfits(access: Access, request: Descriptor) -> list[str]:
    """Return the fields that an access names and a request, or an item of it, lacks."""
    kind: Any = request
    for name in access.items.split(".") if access.items else ():
        found = None if kind is None else kind.fields_by_name.get(name)
        if found is None:
            return [access.items]
        kind = found.message_type
    named = [each for each in (access.tenant, access.key) if each]
    if kind is None or access.places is not None:
        return []
    return [path for path in named if not has_field(kind, path)]


def readable(rights: Rights, family: ColumnFamily) -> Callable[[bytes], bool] | None:
    """Return a predicate of the keys of readable rows; None: every row."""
    if rights.covers(family.name, "read"):
        return None
    place = family.place
    if place is None or not rights.some(family.name, "read"):
        return lambda _: False
    return lambda key: rights.reaches(family.name, "read", place(key))


def undeclared(
    plugin: str, services: tuple[GrpcService, ...], commands: Mapping[str, Command[Any]]
) -> Iterator[str]:
    """Yield the methods and the public commands of a plugin that only admins may use."""
    for service in services:
        for name, need in needs_of_service(plugin, service, commands).items():
            if need.access is UNDECLARED:
                yield f"{service.full_name}/{name}"
    for name, command in commands.items():
        if command.public and command.access is None:
            yield name
