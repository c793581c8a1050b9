"""One search over everything that has a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from quorate.cli.console.html import Link, Page, note
from quorate.cli.console.links import Kind, References
from quorate.cli.console.pairs import link_to
from quorate.cli.console.rows import RowPages, title_of
from quorate.cli.statuses import name_of
from quorate.client.errors import QuorateError
from quorate.plugin.resource import Resource, bind

if TYPE_CHECKING:
    from quorate.client import Client

Row = Mapping[str, object]

#: Maximum number of tenants that are searched, and of hits of each kind.
_TENANTS: Final = 16
_HITS: Final = 5
_PREFIX: Final = "prefix"
_TENANT: Final = "tenant"
#: Longer texts are no names: a key has at most 4 KiB.
_LONGEST: Final = 4_096


def search(client: Client, references: References, pages: RowPages, text: str) -> Page:
    """Show what has a name that begins with a text: nodes, shards, pairs and rows."""
    title = "Search"
    text = text.strip()
    if not text or len(text) > _LONGEST:
        told = "Give the beginning of a key, or the name of a tenant, a client, a topic, a node."
        return Page(title=title, head=note(told), renewed=False)
    found = [*_of_cluster(client, text), *_pairs(client, text)]
    tenants, more = _tenants(client, references, pages)
    for kind in references.kinds.values():
        found += _of_kind(client, kind, pages, text, tenants)
    tables = [("", found)] if found else []
    foot = "" if not more else note(f"Looked in the first {_TENANTS} tenants: write TENANT/NAME.")
    empty = note(f"Nothing that you may see begins with “{text[:80]}”.")
    return Page(title=title, tables=tables, foot=foot, empty=empty, renewed=False)


def _of_cluster(client: Client, text: str) -> Iterator[Row]:
    topology = client.topology()
    for each in topology.nodes:
        if text in each.node:
            yield {"found": Link(each.node, f"nodes/{each.node}"), "is": "Node"}
    hits = (name for place in topology.shards if (name := name_of(place)).startswith(text))
    for name in islice(hits, _HITS):
        yield {"found": Link(name, f"shards/{name}"), "is": "Shard"}


def _pairs(client: Client, text: str) -> Iterator[Row]:
    try:
        pairs = [*islice(client.kv.list(text, page_size=_HITS, keys_only=True), _HITS)]
    except QuorateError:
        return
    for pair in pairs:
        yield {"found": link_to(pair.key), "is": "Key"}


def _tenants(client: Client, references: References, pages: RowPages) -> tuple[Sequence[str], bool]:
    kinds = (each for each in references.kinds.values() if each.names == (_TENANT,))
    kind = next(kinds, None)
    if kind is None:
        return [], False
    try:
        rows, more = pages.rows(client, kind.binding, {}, _TENANTS)
    except QuorateError:
        return [], False
    names = (row[kind.binding.parts[0]] for row in rows)
    return [each.text if isinstance(each, Link) else str(each) for each in names], bool(more)


def _of_kind(
    client: Client, kind: Kind, pages: RowPages, text: str, tenants: Sequence[str]
) -> Iterator[Row]:
    binding = kind.binding
    resource: Resource[Any] = binding.resource
    fields = set()
    if "List" in binding.asked:
        fields = {*bind(resource).asked["List"][0].request.DESCRIPTOR.fields_by_name}
    asked: list[dict[str, str]] = []
    if len(binding.parts) == 1 and _PREFIX in fields:
        asked = [{_PREFIX: text}]
    elif binding.parts[0] == _TENANT and len(binding.parts) == 2 and _PREFIX in fields:
        asked = [{_TENANT: each, _PREFIX: text} for each in tenants]
        tenant, slash, name = text.partition("/")
        if slash and tenant and name:
            asked.append({_TENANT: tenant, _PREFIX: name})
    hits = 0
    for each in asked:
        try:
            rows, _ = pages.rows(client, binding, each, _HITS - hits)
        except (QuorateError, ValueError):
            # What a reader may not see is not found.
            continue
        for row in rows:
            hits += 1
            of = row.get(_TENANT) if len(binding.parts) > 1 else ""
            yield {"found": row[binding.parts[-1]], "is": title_of(resource), "of": of}
        if hits >= _HITS:
            return
    if not asked and len(binding.parts) == 1:
        try:
            found = pages.found(client, kind, (text,))
        except (QuorateError, ValueError):
            return
        if found is not None:
            link = kind.link({binding.parts[0]: text}, text)
            yield {"found": link, "is": title_of(resource)}
