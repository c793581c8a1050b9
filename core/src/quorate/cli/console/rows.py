"""The pages of resources: lists, found by the fields that their services filter by, and rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor

from quorate.cli.console.activity import query_of
from quorate.cli.console.html import Bad, Link, Moment, Page, anchor, form, note
from quorate.cli.console.links import Kind, References
from quorate.cli.console.refusals import STALE, old_note
from quorate.cli.console.words import titled
from quorate.cli.records import PAGING
from quorate.client.errors import QuorateError, RejectedError
from quorate.plugin.console import columns_of, words_of
from quorate.plugin.moments import to_us, unit_of
from quorate.plugin.resource import Resource, bind
from quorate.plugin.resource.binding import TOKEN, Binding, plural, spaced
from quorate.plugin.singles import is_repeated

if TYPE_CHECKING:
    from quorate.client import Client

Row = Mapping[str, object]

#: How many rows a page has.
ROWS: Final = 100
#: How many rows of each kind the page of a row shows of those that belong to it.
_BELOW: Final = 5
#: The field of a query that says where a page begins.
_PAGE: Final = "page"
#: What is asked first of a row that has it, so that it is seen on a phone too.
_TELLING: Final = ("state", "owner", "broker")
#: Values of states that need an operator's attention.
_BAD: Final = frozenset({"failed", "error", "fenced", "offline", "unavailable", "lost"})


def title_of(resource: Resource[Any]) -> str:
    """Return the plural name of the rows of a resource."""
    return titled(spaced(plural(resource.row.DESCRIPTOR.name)))


class RowPages:
    """The lists and the rows of all resources, which lead to each other."""

    def __init__(self, references: References, typed: Mapping[str, str]) -> None:
        self._references: Final = references
        #: The words of the commands of each family.
        self._typed: Final = typed

    def list(self, client: Client, resource: Resource[Any], query: Mapping[str, str]) -> Page:
        """Show a page of the rows that a query asks for."""
        binding, title = bind(resource), title_of(resource)
        if "List" not in binding.asked:
            return Page(title=title, head=note("They are not listed."))
        fields = _fields(binding)
        head = form(
            {name: query.get(name, "") for name in fields},
            choices={name: each for name, field in fields.items() if (each := _choices(field))},
        )
        given = {name: text for name in fields if (text := query.get(name))}
        if query.get(STALE) and self.is_stale(resource):
            given[STALE] = "yes"
            head = old_note(query) + head
        try:
            rows, token = self.rows(client, binding, given, ROWS, query.get(_PAGE, ""))
        except ValueError as error:
            return Page(title=title, head=head + note(str(error)))
        except RejectedError as error:
            missing = [each for each in binding.parts[:1] if each in fields and not query.get(each)]
            if error.code != "INVALID_ARGUMENT" or not missing:
                raise
            rows, token = [], ""
        foot = ""
        if token:
            more = Link("More", resource.family.replace(".", "/"), {**query, _PAGE: token})
            foot = f"<p>{anchor(more)}</p>"
        empty = self._empty(binding, title, query, fields)
        return Page(title=title, tables=[("", rows)], head=head, foot=foot, empty=empty)

    @staticmethod
    def is_stale(resource: Resource[Any]) -> bool:
        """Return whether a list of these rows can be had without a majority."""
        reads = bind(resource).asked.get("List") or ()
        return any(STALE in each.request.DESCRIPTOR.fields_by_name for each in reads)

    def rows(
        self, client: Client, binding: Binding, given: Mapping[str, str], most: int, page: str = ""
    ) -> tuple[Sequence[Row], str]:
        """Return rows, and where the next page begins; raises `ValueError` for a condition."""
        [read, *_] = binding.asked["List"]
        assert read.rows is not None
        request: Any = read.request()
        fields = read.request.DESCRIPTOR.fields_by_name
        for name, text in given.items():
            _set(request, fields[name], text)
        paged = "page_size" in fields
        if paged:
            request.page_size = most
            if page:
                is_bytes = isinstance(request.page_token, bytes)
                request.page_token = bytes.fromhex(page) if is_bytes else page
        path = f"/{binding.resource.service.full_name}/{read.method}"
        found: Any = client.call(path, request, read.response, read=True)
        rows = [self._row(binding, each) for each in islice(getattr(found, read.rows.name), most)]
        token = getattr(found, TOKEN) if paged else ""
        return rows, token.hex() if isinstance(token, bytes) else token

    def row(self, client: Client, kind: Kind, query: Mapping[str, str]) -> Page | None:
        """Show a row, what it belongs to, and what belongs to it; None: there is none."""
        binding = kind.binding
        parts = {name: query.get(name, "") for name in binding.parts}
        if not all(parts.values()):
            return None
        found = self.found(client, kind, tuple(parts.values()))
        name = " / ".join(parts.values())
        title = f"{titled(binding.noun)} {name if len(name) <= 80 else name[:80] + '…'}"
        if found is None:
            text = f"There is no {binding.noun} {name}: it was deleted, or never created."
            back = anchor(Link(f"All {title_of(binding.resource)}", kind.path))
            return Page(title=title, head=note(text) + f"<p>{back}</p>")
        shown = dict(self._row(binding, found, own=True))
        changes = shown.pop("", None)
        facts = [{"what": titled(each), "value": value} for each, value in shown.items()]
        tables: list[tuple[str, Sequence[Row]]] = [("", facts)]
        links = [f"<li>{anchor(changes)}</li>"] if isinstance(changes, Link) else []
        for below, named in self._references.below(kind, parts):
            others = self._below(client, below, named)
            if others:
                tables.append((title_of(below.resource), others))
            path = below.resource.family.replace(".", "/")
            link = Link(f"All {title_of(below.resource)} of it", path, named)
            links.append(f"<li>{anchor(link)}</li>")
        return Page(title=title, tables=tables, foot=f"<ul>{''.join(links)}</ul>")

    def found(self, client: Client, kind: Kind, parts: Sequence[str]) -> Any:
        """Return the row of a key, or None; raises `ValueError` for a key that cannot be."""
        known = kind.binding.keyed.DESCRIPTOR
        key = [
            _value(_field(known, name), text)
            for name, text in zip(kind.binding.resource.key, parts, strict=True)
        ]
        try:
            return client.records(kind.binding.resource).get(*key)
        except RejectedError as error:
            if error.code in (
                kind.binding.resource.serving.missing,
                "NOT_FOUND",
                "INVALID_ARGUMENT",
            ):
                return None
            raise

    def _below(self, client: Client, binding: Binding, named: Mapping[str, str]) -> Sequence[Row]:
        """Return some rows that name another; none where they cannot be read."""
        try:
            return self.rows(client, binding, named, _BELOW)[0]
        except (QuorateError, ValueError):
            return []

    def _row(self, binding: Binding, message: Any, *, own: bool = False) -> Row:
        fields = dict(_columns(binding, message))
        # The key first: it says which row this is.
        parts = [each for each in binding.parts if each in fields]
        first = [*parts, *(each for each in _TELLING if each in fields)]
        row: dict[str, object] = {each: fields[each] for each in first} | fields
        row |= self._references.of(binding, row)
        kind = self._references.kinds.get(binding.resource.family)
        if kind is not None and not own and len(parts) == len(binding.parts):
            last = parts[-1]
            row[last] = kind.link({each: fields[each] for each in parts}, str(fields[last]))
        if isinstance(message, binding.keyed) and binding.resource.key:
            query = {"family": binding.resource.family, **query_of(binding.key_of(message))}
            row[""] = Link("changes", "changes", query)
        return row

    def _empty(
        self, binding: Binding, title: str, query: Mapping[str, str], fields: Mapping[str, Any]
    ) -> str:
        missing = [name for name in binding.parts[:1] if name in fields and not query.get(name)]
        if missing:
            kind = next(
                (each for each in self._references.kinds.values() if each.names == (missing[0],)),
                None,
            )
            text = f"Give a {titled(missing[0]).lower()} to see its {title}."
            if kind is None:
                return note(text)
            every = Link(f"All {title_of(kind.binding.resource)}", kind.path)
            return f"{note(text)}<p>{anchor(every)}</p>"
        if any(query.get(name) for name in fields):
            return note(f"No {title} meet these conditions.")
        how = [each for each in ("Create", "Put") if each in binding.writes]
        text = f"There are no {title} yet."
        if how and binding.resource.view.cli:
            return (
                f"<p>{text} Clients write them, and <code>quorate "
                f"{self._typed[binding.resource.family]} --help</code> tells how to do it by hand."
                "</p>"
            )
        return note(f"{text} They appear when clients make them.")


def _fields(binding: Binding) -> Mapping[str, Any]:
    return {
        each.name: each
        for each in binding.asked["List"][0].request.DESCRIPTOR.fields
        if each.name not in PAGING and each.message_type is None and not is_repeated(each)
    }


def _choices(field: Any) -> Sequence[str]:
    if field.enum_type is not None:
        return [*words_of(field.enum_type)]
    return ["yes", "no"] if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else []


def _set(request: Any, field: Any, text: str) -> None:
    try:
        setattr(request, field.name, _value(field, text))
    except (ValueError, TypeError):
        raise ValueError(f"{field.name} is not {text!r}") from None


def _field(descriptor: Any, path: str) -> Any:
    *outer, last = path.split(".")
    for name in outer:
        descriptor = descriptor.fields_by_name[name].message_type
    return descriptor.fields_by_name[last]


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


def _columns(binding: Binding, message: Any) -> Iterator[tuple[str, object]]:
    for name, value in columns_of(message):
        if name in binding.resource.serving.internal:
            continue
        yield name, told(name, value)


def told(name: str, value: Any) -> object:
    """Return the value of a field as it is shown."""
    if name == "state" and value in _BAD:
        return Bad(value)
    unit = unit_of(name)
    if unit is not None and str(value).isdecimal():
        # A `fixed64` is text here; 0 stands for none.
        return Moment(to_us(int(value), unit) // 1_000) if int(value) else ""
    return value
