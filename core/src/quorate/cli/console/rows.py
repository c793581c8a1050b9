"""The pages of resources: their rows, found by the fields that their services filter by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor

from quorate.cli.console.activity import query_of
from quorate.cli.console.html import Bad, Link, Page, anchor, form, note
from quorate.cli.records import PAGING
from quorate.plugin.console import columns_of, words_of
from quorate.plugin.resource import Resource, bind
from quorate.plugin.resource.binding import TOKEN, Binding, plural, spaced

if TYPE_CHECKING:
    from quorate.client import Client

#: How many rows a page has.
ROWS: Final = 100
#: The field of a query that says where a page begins.
_PAGE: Final = "page"
#: Values of states that need an operator's attention.
_BAD: Final = frozenset({"failed", "error", "fenced", "offline", "unavailable", "lost"})


def title_of(resource: Resource[Any]) -> str:
    """Return the plural name of the rows of a resource."""
    return spaced(plural(resource.row.DESCRIPTOR.name))


def rows_page(client: Client, resource: Resource[Any], query: Mapping[str, str], root: str) -> Page:
    """Show a page of the rows that a query asks for."""
    binding = bind(resource)
    title = title_of(resource).capitalize()
    if "List" not in binding.asked:
        return Page(title=title, tables=[], head=note("They are not listed."))
    [read, *_] = binding.asked["List"]
    assert read.rows is not None
    fields = {each.name: each for each in read.request.DESCRIPTOR.fields if _is_plain(each)}
    head = form({name: query.get(name, "") for name in fields})
    request: Any = read.request()
    for name, field in fields.items():
        if text := query.get(name):
            try:
                setattr(request, name, _value(field, text))
            except ValueError:
                return Page(title=title, tables=[], head=head + note(f"{name} is not {text!r}."))
    missing = [name for name in resource.key[:1] if name in fields and not query.get(name)]
    paged = "page_size" in request.DESCRIPTOR.fields_by_name
    if paged:
        request.page_size = ROWS
        if token := query.get(_PAGE):
            request.page_token = _token(request, token)
    path = f"/{resource.service.full_name}/{read.method}"
    found: Any = client.call(path, request, read.response, read=True)
    rows = [_row(binding, each) for each in islice(getattr(found, read.rows.name), ROWS)]
    foot = ""
    if paged and (token := getattr(found, TOKEN)):
        text = token.hex() if isinstance(token, bytes) else token
        more = Link("More", resource.family.replace(".", "/"), {**query, _PAGE: text})
        foot = f"<p>{anchor(more, root)}</p>"
    elif not rows and missing:
        foot = note(f"Give a {missing[0]} to look for.")
    return Page(title=title, tables=[("", rows)], head=head, foot=foot)


def _token(request: Any, text: str) -> Any:
    return bytes.fromhex(text) if isinstance(request.page_token, bytes) else text


def _is_plain(field: Any) -> bool:
    return field.name not in PAGING and field.message_type is None and not field.is_repeated


def _value(field: Any, text: str) -> Any:
    if field.enum_type is not None:
        return words_of(field.enum_type).get(text) or int(text)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return text.encode()
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return text in ("yes", "true", "1")
    return int(text)


def _row(binding: Binding, message: Any) -> Mapping[str, object]:
    row = dict(_columns(binding, message))
    if isinstance(message, binding.keyed) and binding.resource.key:
        query = {"family": binding.resource.family, **query_of(binding.key_of(message))}
        row[""] = Link("changes", "changes", query)
    return row


def _columns(binding: Binding, message: Any) -> Iterator[tuple[str, object]]:
    for name, value in columns_of(message):
        if name in binding.resource.internal:
            continue
        yield name, Bad(value) if name == "state" and value in _BAD else value
