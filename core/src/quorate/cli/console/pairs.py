"""The pairs of keys and values, browsed by what their keys begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from quorate.cli.console.activity import query_of
from quorate.cli.console.html import Link, Page, anchor, form, note
from quorate.cli.console.refusals import STALE, old_note
from quorate.v1 import kv_pb2

if TYPE_CHECKING:
    from quorate.client import Client

_PAGE: Final = "page"
_ROWS: Final = 100
_LIST: Final = "/quorate.v1.KvService/List"
_FAMILY: Final = "kv.pairs"


def pairs(client: Client, query: Mapping[str, str], root: str) -> Page:
    """Show the pairs with a prefix, a page of them."""
    prefix = query.get("prefix", "")
    stale = bool(query.get(STALE))
    request = kv_pb2.ListPairsRequest(prefix=prefix.encode(), page_size=_ROWS, stale=stale)
    try:
        request.page_token = bytes.fromhex(query.get(_PAGE, ""))
    except ValueError:
        return Page(title="Pairs", tables=[], head=note("There is no such page of pairs."))
    shard_key = request.prefix.partition(b"/")[0]
    found = client.call(
        _LIST, request, kv_pb2.ListPairsResponse, group="metadata", shard_key=shard_key, read=True
    )
    rows = []
    for each in found.pairs:
        folder, slash, _ = each.key.decode(errors="replace")[len(prefix) :].partition("/")
        inner = {"prefix": f"{prefix}{folder}/"} if slash else None
        rows.append(
            {
                "key": each.key,
                "value": each.value,
                "bytes": len(each.value),
                "revision": each.revision,
                "below": Link(f"{folder}/", "pairs", inner) if inner else "",
                "": Link("changes", "changes", {"family": _FAMILY, **query_of(each.key)}),
            }
        )
    foot = ""
    if found.next_page_token:
        more = {**query, _PAGE: found.next_page_token.hex()}
        foot = f"<p>{anchor(Link('More', 'pairs', more), root)}</p>"
    text = f"No key begins with “{prefix[:80]}”." if prefix else "There is no pair yet."
    empty = note(text) + "<p><code>quorate kv put KEY VALUE</code> writes a pair.</p>"
    head = old_note(query) + form({"prefix": prefix})
    return Page(title="Pairs", tables=[("", rows)], head=head, foot=foot, empty=empty)
