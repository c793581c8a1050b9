"""What is wrong with a request whatever the rows say; it is refused before it is logged."""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from quorate.plugin import Invalid
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
    SchemaKind,
    UnbindSchema,
    UnbindSchemas,
    UpdateSchema,
    UpdateSchemas,
)

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference

LONGEST_NAME: Final = 128
LONGEST_RESOURCE: Final = 512
LARGEST_DEFINITION: Final = 64 * 1024
LARGEST_PAGE: Final = 1_000

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_PATH: Final = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*")


def check_create(command: CreateSchema, field: str = "") -> None:
    """Refuse a schema without a name, a kind that is known, or a definition."""
    check_schema(command, field)
    if command.kind not in SchemaKind.values() or not command.kind:
        known = ", ".join(SchemaKind.keys()[1:])
        raise Invalid(f"{field}kind", f"must be one of {known}")
    _check_definition(f"{field}definition", command.definition)


def check_creates(command: CreateSchemas) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_each("schemas", command.schemas, check_create)


def check_update(command: UpdateSchema, field: str = "") -> None:
    """Refuse a version without a name or a definition."""
    check_schema(command, field)
    _check_definition(f"{field}definition", command.definition)


def check_updates(command: UpdateSchemas) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    _check_each("schemas", command.schemas, check_update)


def check_schema(
    request: CreateSchema | UpdateSchema | DeleteSchema | GetSchema, field: str = ""
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
    _check_text(f"{field}resource", command.resource, LONGEST_RESOURCE)
    if not _PATH.fullmatch(command.resource):
        reason = "must be names of letters, digits, '.', '_' and '-', joined by '/'"
        raise Invalid(f"{field}resource", reason)
    _check_name(f"{field}name", command.name)


def check_bindings(command: BindSchemas | UnbindSchemas) -> None:
    """Refuse a batch with a wrong item, and say which one it is."""
    bindings: Sequence[BindSchema | UnbindSchema] = command.bindings
    _check_each("bindings", bindings, check_binding)


def check_list(request: ListSchemas) -> None:
    """Refuse a list of no tenant, positions that no name can have, and a page that is too large."""
    _check_name("tenant", request.tenant)
    _check_length("prefix", request.prefix, LONGEST_NAME)
    _check_length("after", request.after, LONGEST_NAME)
    _check_limit(request.limit)


def check_list_bindings(request: ListSchemaBindings) -> None:
    """Refuse a list of no tenant, positions that no row can have, and a page that is too large."""
    _check_name("tenant", request.tenant)
    _check_length("resource", request.resource, LONGEST_RESOURCE)
    _check_length("after.resource", request.after.resource, LONGEST_RESOURCE)
    _check_length("after.name", request.after.name, LONGEST_NAME)
    _check_limit(request.limit)


def _check_each(field: str, items: Sequence[I], check: Callable[[I, str], None]) -> None:
    if not items:
        raise Invalid(field, "must not be empty")
    for position, item in enumerate(items):
        check(item, f"{field}[{position}].")


def _check_definition(field: str, definition: bytes) -> None:
    if not definition:
        raise Invalid(field, "must not be empty")
    if len(definition) > LARGEST_DEFINITION:
        size = len(definition)
        raise Invalid(field, f"must have at most {LARGEST_DEFINITION} bytes, not {size}")


def _check_limit(limit: int) -> None:
    if limit > LARGEST_PAGE:
        raise Invalid("limit", f"must be at most {LARGEST_PAGE}, not {limit}")


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
