"""The pairs of keys and values, browsed one level at a time: keys are divided by slashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from quorate.cli.console.activity import query_of
from quorate.cli.console.html import Link, Page, anchor, form, note
from quorate.cli.console.refusals import STALE, old_note
from quorate.v1 import kv_pb2

if TYPE_CHECKING:
    from quorate.client import Client

#: The field of a query that says at which key a page begins.
_PAGE: Final = "page"
_ROWS: Final = 100
#: Pairs that are read at a time; of a level with more below it the rest is skipped.
_AT_A_TIME: Final = 200
#: Calls for a page, which may have fewer rows then.
_CALLS: Final = 20
#: How many of the levels above are shown, the nearest ones.
_ABOVE: Final = 32
_PATH: Final = "pairs"
_LIST: Final = "/quorate.v1.KvService/List"
_FAMILY: Final = "kv.pairs"
_SLASH: Final = b"/"


def pairs(client: Client, query: Mapping[str, str]) -> Page:
    """Show a page of the keys with a prefix, one row for those that share the next level."""
    shown, in_hex = query.get("prefix", ""), query.get("hex", "")
    try:
        prefix = bytes.fromhex(shown) if in_hex else shown.encode()
        start = bytes.fromhex(query.get(_PAGE, ""))
    except ValueError:
        return Page(title="Pairs", head=note("There is no such page of pairs."))
    level = _Level(client, prefix, bool(query.get(STALE)))
    rows = [*level.read(start)]
    foot = ""
    if level.more:
        more = {**query, _PAGE: level.more.hex()}
        foot = f"<p>{anchor(Link('More', _PATH, more))}</p>"
    text = f"No key begins with “{shown[:80]}”." if prefix else "There is no pair yet."
    empty = note(text) + "<p><code>quorate kv put KEY VALUE</code> writes a pair.</p>"
    above = "".join(f"{anchor(each)} " for each in _above(prefix))
    head = old_note(query) + form({"prefix": shown, **({"hex": in_hex} if in_hex else {})})
    if above:
        head += f'<p class="above">Above: {above}</p>'
    return Page(title="Pairs", tables=[("", rows)], head=head, foot=foot, empty=empty)


def link_to(prefix: bytes, text: str = "") -> Link:
    """Return a link to the keys with a prefix."""
    try:
        shown = prefix.decode()
    except UnicodeDecodeError:
        return Link(text or repr(prefix)[2:-1], _PATH, {"prefix": prefix.hex(), "hex": "yes"})
    return Link(text or shown, _PATH, {"prefix": shown} if shown else None)


@dataclass(eq=False)
class _Level:
    """The keys with a prefix, up to their next slash."""

    _client: Client
    _prefix: bytes
    _stale: bool
    #: Where the next page begins; empty: there is none.
    more: bytes = b""

    def read(self, start: bytes) -> Iterator[Mapping[str, object]]:
        self.more = start
        count = below = 0
        folder = b""
        for _ in range(_CALLS):
            found = self._page(self.more)
            for pair in found.pairs:
                inside = self._folder(pair.key)
                if folder and folder != inside:
                    yield _folder_row(folder, f"{below:,}")
                    folder = b""
                if not (folder and folder == inside):
                    if count == _ROWS:
                        self.more = pair.key
                        return
                    count, folder, below = count + 1, inside, 0
                if inside:
                    below += 1
                else:
                    yield _pair_row(pair)
            more = bool(found.next_page_token)
            if folder and more:
                yield _folder_row(folder, f"{below:,} or more")
                # The first key that is behind all of them.
                self.more, folder = folder[:-1] + b"0", b""
            elif more:
                self.more = found.pairs[-1].key + b"\0"
            else:
                self.more = b""
                break
        if folder:
            yield _folder_row(folder, f"{below:,}")

    def _folder(self, key: bytes) -> bytes:
        """Return what a key begins with, up to its first slash behind the prefix; empty: none."""
        end = key.find(_SLASH, len(self._prefix))
        return b"" if end < 0 else key[: end + 1]

    def _page(self, start: bytes) -> kv_pb2.ListPairsResponse:
        request = kv_pb2.ListPairsRequest(
            prefix=self._prefix, start=start, page_size=_AT_A_TIME, stale=self._stale
        )
        key = self._prefix.partition(_SLASH)[0]
        reply = kv_pb2.ListPairsResponse
        return self._client.call(_LIST, request, reply, group="metadata", shard_key=key, read=True)


def _folder_row(folder: bytes, below: str) -> Mapping[str, object]:
    return {"key": link_to(folder), "keys_below": below}


def _pair_row(pair: kv_pb2.KeyedPair) -> Mapping[str, object]:
    return {
        "key": pair.key,
        "keys_below": "",
        "value": pair.value,
        "bytes": len(pair.value),
        "revision": pair.revision,
        "created_revision": pair.created_revision,
        "ttl_ms": pair.ttl_ms or "",
        "": Link("changes", "changes", {"family": _FAMILY, **query_of(pair.key)}),
    }


def _above(prefix: bytes) -> list[Link]:
    """Return links to the nearest levels above a prefix, all pairs first."""
    if not prefix:
        return []
    parts = prefix.removesuffix(_SLASH).split(_SLASH)[:-1]
    levels = accumulate(part + _SLASH for part in parts)
    return [link_to(b"", "all pairs"), *map(link_to, levels)][-_ABOVE:]
