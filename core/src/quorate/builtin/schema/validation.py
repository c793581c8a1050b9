"""Checks that need no rows: they refuse an invalid request before it is logged."""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.advanced import Updates
from quorate.plugin.checking import (
    LONGEST_KEY,
    LONGEST_NAME,
    check_bytes,
    check_choice,
    check_description,
    check_longest,
    check_name,
    check_page_size,
    check_text,
)
from quorate.v1 import schema_pb2 as pb

UPDATES: Final = Updates(fixed=frozenset({"tenant", "name", "expected_version", "verdict"}))

#: In bytes, as the names of topics.
LONGEST_RESOURCE: Final = 3_072
LARGEST_DEFINITION: Final = 64 * 1024


def check_new(command: pb.CreateSchema | pb.PutSchema, path: str) -> None:
    """Refuse a schema of an unknown kind, or without a definition."""
    check_choice(f"{path}kind", command.kind, pb.SchemaKind)
    _check_said(command, path)


def check_update(command: pb.UpdateSchema, path: str) -> None:
    """Refuse an update without a field, or with an invalid one."""
    UPDATES.check(command, path, whole=_check_said)
    if not UPDATES.given(command).paths:
        raise Invalid(f"{path}definition", "must not be empty, unless a description is given")


def check_resource(field: str, resource: str) -> None:
    """Refuse a name that no topic or other resource can have."""
    check_text(field, resource, LONGEST_RESOURCE)


def check_get(request: pb.GetSchema) -> None:
    """Refuse a request without a valid tenant and name."""
    check_name("tenant", request.tenant)
    check_name("name", request.name)


def check_list(request: pb.ListSchemas) -> None:
    """Refuse positions that no name can have, and a page that is too large."""
    _check_of_tenant(request.tenant, prefix=request.prefix, after=request.after)
    check_longest("prefix", request.prefix, LONGEST_NAME)
    check_longest("after", request.after, LONGEST_NAME)
    _check_page(request.limit, request.page_token, has_after=bool(request.after))


def check_list_bindings(request: pb.ListSchemaBindings) -> None:
    """Refuse positions that no row can have, and a page that is too large."""
    has_after = request.HasField("after")
    _check_of_tenant(request.tenant, resource=request.resource, name=request.name, after=has_after)
    if request.name:
        check_name("name", request.name)
    if request.name and request.resource:
        raise Invalid("resource", "must be empty when a schema is named")
    for field, resource in (
        ("resource", request.resource),
        ("after.resource", request.after.resource),
    ):
        if resource:
            check_resource(field, resource)
    check_longest("after.name", request.after.name, LONGEST_NAME)
    _check_page(request.limit, request.page_token, has_after=has_after)


def _check_said(command: pb.CreateSchema | pb.PutSchema | pb.UpdateSchema, path: str) -> None:
    if not command.definition:
        raise Invalid(f"{path}definition", "must not be empty")
    check_bytes(f"{path}definition", command.definition, LARGEST_DEFINITION)
    check_description(f"{path}description", command.description)
    if command.compatibility:
        check_choice(f"{path}compatibility", command.compatibility, pb.SchemaCompatibility)


def _check_of_tenant(tenant: str, **restrictions: object) -> None:
    """Refuse, in a list of all tenants, the restrictions that need one tenant."""
    if tenant:
        check_name("tenant", tenant)
        return
    for field, given in restrictions.items():
        if given:
            raise Invalid(field, "must be empty when no tenant is given")


def _check_page(limit: int, token: bytes, *, has_after: bool) -> None:
    if len(token) > LONGEST_KEY or (token and has_after):
        raise Invalid("page_token", "must be the token of the previous page, and without `after`")
    check_page_size("limit", limit)
