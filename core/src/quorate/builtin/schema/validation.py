"""What is wrong with a request whatever the rows say; it is refused before it is logged."""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from quorate.plugin import Invalid, Updates
from quorate.v1.schema_pb2 import (
    BindSchema,
    BindSchemas,
    CreateSchema,
    CreateSchemas,
    DeleteSchema,
    DeleteSchemas,
    GetSchema,
    ListSchemaBindings,
    ListSchemas,
    PutSchema,
    PutSchemas,
    SchemaKind,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference

UPDATES: Final = Updates(fixed=frozenset({"tenant", "name", "expected_version"}))

LONGEST_NAME: Final = 128
LONGEST_DESCRIPTION: Final = 1_024
#: In bytes, as the names of topics.
LONGEST_RESOURCE: Final = 3_072
#: No key of a row is longer.
LONGEST_TOKEN: Final = 4_096
LARGEST_DEFINITION: Final = 64 * 1024
LARGEST_PAGE: Final = 1_000

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def check_create(command: CreateSchema | PutSchema, field: str = "") -> None:
    """Refuse a schema without a name, a kind that is known, or a definition."""
    check_schema(command, field)
    if command.kind not in SchemaKind.values() or not command.kind:
        known = ", ".join(SchemaKind.keys()[1:])
        raise Invalid(f"{field}kind", f"must be one of {known}")
    _check_whole(command, field)


def check_creates(command: CreateSchemas | PutSchemas) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    schemas: Sequence[CreateSchema | PutSchema] = command.schemas
    _check_each("schemas", schemas, check_create)


def check_update(command: UpdateSchema, field: str = "") -> None:
    """Refuse what names no schema or gives nothing, and a wrong version."""
    check_schema(command, field)
    UPDATES.check(command, field, whole=_check_whole)
    if not UPDATES.given(command).paths:
        raise Invalid(f"{field}definition", "must not be empty, unless a description is given")


def check_updates(command: UpdateSchemas) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_each("schemas", command.schemas, check_update)


def check_schema(
    request: CreateSchema | PutSchema | UpdateSchema | DeleteSchema | GetSchema, field: str = ""
) -> None:
    """Refuse what names no schema."""
    _check_name(f"{field}tenant", request.tenant)
    _check_name(f"{field}name", request.name)


def check_deletes(command: DeleteSchemas) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_each("schemas", command.schemas, check_schema)


def check_binding(command: BindSchema | UnbindSchema, field: str = "") -> None:
    """Refuse what names no schema or no resource."""
    _check_name(f"{field}tenant", command.tenant)
    if not command.resource:
        raise Invalid(f"{field}resource", "must not be empty")
    _check_resource(f"{field}resource", command.resource)
    _check_name(f"{field}name", command.name)


def check_bindings(command: BindSchemas | UnbindSchemas) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    bindings: Sequence[BindSchema | UnbindSchema] = command.bindings
    _check_each("bindings", bindings, check_binding)


def check_list(request: ListSchemas) -> None:
    """Refuse positions that no name can have, and a page that is too large."""
    _check_of_tenant(request.tenant, prefix=request.prefix, after=request.after)
    _check_length("prefix", request.prefix, LONGEST_NAME)
    _check_length("after", request.after, LONGEST_NAME)
    _check_page(request.limit, request.page_token, has_after=bool(request.after))


def check_list_bindings(request: ListSchemaBindings) -> None:
    """Refuse positions that no row can have, and a page that is too large."""
    has_after = request.HasField("after")
    _check_of_tenant(request.tenant, resource=request.resource, name=request.name, after=has_after)
    if request.name:
        _check_name("name", request.name)
    if request.name and request.resource:
        raise Invalid("resource", "must be empty when a schema is named")
    _check_resource("resource", request.resource)
    _check_resource("after.resource", request.after.resource)
    _check_length("after.name", request.after.name, LONGEST_NAME)
    _check_page(request.limit, request.page_token, has_after=has_after)


def _check_each(field: str, items: Sequence[I], check: Callable[[I, str], None]) -> None:
    for position, item in enumerate(items):
        check(item, f"{field}[{position}].")


def _check_whole(command: CreateSchema | PutSchema | UpdateSchema, field: str) -> None:
    _check_definition(f"{field}definition", command.definition)
    _check_length(f"{field}description", command.description, LONGEST_DESCRIPTION)


def _check_definition(field: str, definition: bytes) -> None:
    if not definition:
        raise Invalid(field, "must not be empty")
    if len(definition) > LARGEST_DEFINITION:
        size = len(definition)
        raise Invalid(field, f"must have at most {LARGEST_DEFINITION} bytes, not {size}")


def _check_of_tenant(tenant: str, **restrictions: object) -> None:
    """Refuse what restricts the list of one tenant alone in that of all."""
    if tenant:
        _check_name("tenant", tenant)
        return
    for field, given in restrictions.items():
        if given:
            raise Invalid(field, "must be empty when no tenant is given")


def _check_page(limit: int, token: bytes, *, has_after: bool) -> None:
    if len(token) > LONGEST_TOKEN or (token and has_after):
        raise Invalid("page_token", "must be that of the page before, and without `after`")
    if limit > LARGEST_PAGE:
        raise Invalid("limit", f"must be at most {LARGEST_PAGE}, not {limit}")


def _check_resource(field: str, resource: str) -> None:
    if len(resource) * 4 > LONGEST_RESOURCE and (size := len(resource.encode())) > LONGEST_RESOURCE:
        raise Invalid(field, f"must have at most {LONGEST_RESOURCE} bytes, not {size}")
    if _CONTROL.search(resource):
        raise Invalid(field, "must not have control characters")


def _check_name(field: str, name: str) -> None:
    _check_text(field, name, LONGEST_NAME)
    if not _NAME.fullmatch(name):
        raise Invalid(field, "must be letters, digits, '.', '_' and '-'")


def _check_text(field: str, text: str, longest: int) -> None:
    if not text:
        raise Invalid(field, "must not be empty")
    _check_length(field, text, longest)


def _check_length(field: str, text: str, longest: int) -> None:
    if len(text) > longest:
        raise Invalid(field, f"must have at most {longest} characters, not {len(text)}")
