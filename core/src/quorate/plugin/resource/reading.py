"""The derived reads: the queries of a shard, and the methods of a service that send them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from quorate.plugin import keys
from quorate.plugin.batches import AT_A_TIME, in_parts
from quorate.plugin.checking import (
    LARGEST_PAGE,
    LONGEST_KEY,
    PAGE,
    check_count,
    check_name,
    check_page_size,
    check_text,
)
from quorate.plugin.declarations import Items, Query
from quorate.plugin.node import Answers, Consistency, NodeApi
from quorate.plugin.outcomes import Invalid, Rejected
from quorate.plugin.resource.binding import TOKEN, Binding, Read, inner_field
from quorate.plugin.resource.declaration import Resource
from quorate.plugin.resource.handlers import shown
from quorate.plugin.resource.messages import query_of
from quorate.plugin.singles import is_repeated
from quorate.plugin.splicing import embedded, head, number
from quorate.plugin.transaction import Reader
from quorate.v1.rows_pb2 import ReadRows, ScanRows, StoredRow

#: A page ends after the row that fills it.
PAGE_BYTES: Final = 1 << 20
#: No more rows than these are looked at for one page, whether they are wanted or not.
MOST_LOOKED_AT: Final = 10_000
_ALL: Final = (b"", b"\xff" * (LONGEST_KEY + 1))
#: Fields of a request for a page that are no condition on a row.
PAGING: Final = frozenset({"prefix", "page_size", "page_token", "stale", "min_revision"})

R = TypeVar("R", bound=Message)

Keep = Callable[[Any], bool]


class Reads:
    """The queries of a resource, and the replies of its methods made from their results."""

    def __init__(self, binding: Binding) -> None:
        resource = binding.resource
        self.binding: Final = binding
        package = resource.row.DESCRIPTOR.file.package
        self.read_rows: Final = query_of(package, "Read", resource.family, ReadRows)
        self.scan_rows: Final = query_of(package, "Scan", resource.family, ScanRows)
        self.family: Final = resource.family

    def queries(self) -> tuple[Query[Any], ...]:
        """Return the vocabulary of reads."""
        group = self.binding.resource.group
        return (
            Query(
                message=self.read_rows,
                group=group,
                run=self._run_read,
                items=Items(
                    get=lambda query: query.keys,
                    shard_key=self.binding.shard_of,
                    make=lambda _, keys: self.read_rows(keys=keys),
                ),
            ),
            Query(
                message=self.scan_rows,
                group=group,
                run=self._run_scan,
                shard_key=lambda query: query.shard_key if query.HasField("shard_key") else None,
                order=lambda row: row.key,
            ),
        )

    def _run_read(self, reader: Reader, query: Any) -> Iterator[StoredRow]:
        for part in in_parts(query.keys, AT_A_TIME):
            for row in reader.get_rows(self.family, part):
                if row is None:
                    yield StoredRow()
                else:
                    yield StoredRow(key=row.key, value=row.value, revision=row.revision)

    def _run_scan(self, reader: Reader, query: Any) -> Iterator[StoredRow]:
        limit = min(query.limit or LARGEST_PAGE + 1, LARGEST_PAGE + 1)
        keep = self._keep(query.filter) if query.filter else None
        parse = self.binding.resource.row.FromString
        room, given, last = PAGE_BYTES, 0, b""
        for looked_at, row in enumerate(reader.scan(self.family, query.start, query.end)):
            if given == limit or room <= 0 or looked_at == MOST_LOOKED_AT:
                yield StoredRow(key=keys.successor(last), more=True)
                return
            last = row.key
            if keep is None or keep(parse(row.value)):
                value = b"" if query.keys_only else row.value
                given += 1
                room -= len(value) + len(row.key)
                yield StoredRow(key=row.key, value=value, revision=row.revision)

    @cached_property
    def _lists(self) -> Read | None:
        for verb in ("List", "Stream", "Count"):
            for read in self.binding.reads.get(verb, ()):
                return read
        return None

    @cached_property
    def conditions(self) -> tuple[tuple[str, bool], ...]:
        """The fields of a row that a list asks to be equal, and whether each has presence.

        Of a list or a map of the row, it asks for some of the items.
        """
        if self._lists is None:
            return ()
        known = self.binding.resource.row.DESCRIPTOR.fields_by_name
        leading = set(self.binding.parts[:-1])
        return tuple(
            (each.name, each.has_presence)
            for each in self._lists.request.DESCRIPTOR.fields
            if each.name in known and each.name not in PAGING and each.name not in leading
        )

    def _keep(self, request: bytes) -> Keep | None:
        """Return a predicate: whether a request wants a row."""
        assert self._lists is not None
        asked = self._lists.request.FromString(request)
        fields = asked.DESCRIPTOR.fields_by_name
        given = [(name, getattr(asked, name)) for name in self._asked(asked)]
        equal = [each for each in given if not is_repeated(fields[each[0]])]
        within = [each for each in given if is_repeated(fields[each[0]])]
        more = self.binding.resource.serving.keep and self.binding.resource.serving.keep(asked)
        if not given:
            return more

        def keep(row: Any) -> bool:
            return (
                all(getattr(row, name) == value for name, value in equal)
                and all(_holds(getattr(row, name), value) for name, value in within)
                and (more is None or more(row))
            )

        return keep

    def _asked(self, request: Any) -> Iterator[str]:
        for name, has_presence in self.conditions:
            if request.HasField(name) if has_presence else getattr(request, name):
                yield name

    # What methods answer with.

    async def rows(
        self, node: NodeApi, wanted: Sequence[bytes], request: Any = None
    ) -> list[StoredRow | None]:
        """Return the rows of keys, in their order."""
        found = await _read(node, self.read_rows(keys=wanted), request)
        return [row if row.key else None for row in found.rows]

    async def get(self, read: Read, node: NodeApi, request: Any) -> bytes:
        """Return the one row that a request names, in its wire form."""
        binding = self.binding
        holder = binding.holder_in(request.DESCRIPTOR)
        named = getattr(request, holder) if holder else request
        values = [getattr(named, part) for part in binding.parts]
        for name, part, value in zip(binding.resource.key, binding.parts, values, strict=True):
            check_part(binding, name, value, f"{holder}.{part}" if holder else part)
        [row] = await self.rows(node, [keys.pack(*values)], request)
        if row is None:
            shown_as = " of ".join(map(str, reversed(values)))
            raise Rejected(
                binding.resource.serving.missing, f"there is no {binding.noun} {shown_as}"
            )
        return shown(binding)(row.key, row.value, row.revision)

    async def get_many(self, read: Read, node: NodeApi, request: Any) -> bytes:
        """Return the rows that a request names: the existing ones, or one answer for each name."""
        binding = self.binding
        named = list(getattr(request, read.many))
        check_count(read.many, named, binding.resource.serving.lookups)
        if not named:
            return b""
        columns = [named]
        if not isinstance(named[0], str):
            columns = [list(map(attrgetter(name), named)) for name in binding.resource.key]
        try:
            for name, values in zip(binding.resource.key, columns, strict=False):
                for value in dict.fromkeys(values):
                    check_part(binding, name, value, name)
        except Invalid:
            for position, each in enumerate(named):
                if isinstance(each, str):
                    check_part(binding, binding.resource.key[0], each, f"{read.many}[{position}]")
                else:
                    check_key_of(binding, each, f"{read.many}[{position}].")
            raise
        wanted = list(map(keys.pack, *columns)) if columns else [b""] * len(named)
        found = await self.rows(node, wanted, request)
        show, wrap, each_answered = shown(binding), *_wrapping(binding, read)
        return b"".join(
            wrap(None if row is None else show(row.key, row.value, row.revision))
            for row in found
            if row is not None or each_answered
        )

    async def page(self, read: Read, node: NodeApi, request: Any) -> bytes:
        """Return a page of rows in its wire form."""
        size = getattr(request, "page_size", 0)
        check_page_size("page_size", size)
        start, end, shard_key = self.range_of(request)
        token = request.page_token
        if token:
            _check_token(token)
            start = max(start, keys.successor(token))
        readable = node.readable(self.family)
        while True:
            rows, token, age_ms = await self._page(
                node, request, start, end, shard_key, size or PAGE
            )
            if readable is None:
                break
            rows = [row for row in rows if readable(row.key)]
            if rows or not token:
                # A token that named a row of others would disclose it.
                token = token and rows[-1].key
                break
            start = keys.successor(token)
        show, wrap, _ = shown(self.binding), *_wrapping(self.binding, read)
        page = b"".join(wrap(show(row.key, row.value, row.revision)) for row in rows)
        fields = read.response.DESCRIPTOR.fields_by_name
        if token:
            page += embedded(fields[TOKEN].number, token)
        if age_ms and "age_ms" in fields:
            page += read.response(age_ms=age_ms).SerializeToString()
        return page

    async def stream(self, read: Read, node: NodeApi, request: Any) -> AsyncIterator[bytes]:
        """Yield page after page, to the end."""
        wanted = deepcopy(request)
        while True:
            page = await self.page(read, node, wanted)
            yield page
            token = getattr(read.response.FromString(page), TOKEN)
            if not token:
                return
            wanted.page_token = token

    async def count(self, read: Read, node: NodeApi, request: Any) -> bytes:
        """Return how many rows a request asks for."""
        total, readable = 0, node.readable(self.family)
        async for found in self._keys(node, request, *self.range_of(request)):
            total += len(found) if readable is None else sum(map(readable, found))
        field = read.response.DESCRIPTOR.fields[0].number
        return number(field, total) if total else b""

    async def keys_of(self, node: NodeApi, *leading: str) -> AsyncIterator[list[bytes]]:
        """Yield the keys that begin with these parts, page by page."""
        start, end = keys.prefix(*leading) if leading else _ALL
        resource = self.binding.resource
        shard_key = None if resource.shard_by else resource.storage.shard_key
        async for found in self._keys(node, None, start, end, shard_key):
            if found:
                yield found

    async def _keys(
        self, node: NodeApi, request: Any, start: bytes, end: bytes, shard_key: bytes | None
    ) -> AsyncIterator[list[bytes]]:
        token = b"\0"
        while token:
            rows, token, _ = await self._page(
                node, request, start, end, shard_key, LARGEST_PAGE, keys_only=True
            )
            yield [row.key for row in rows]
            start = keys.successor(token)

    def range_of(self, request: Any) -> tuple[bytes, bytes, bytes | None]:
        """Return where the rows of a request begin and end, and the shard key if one has them.

        Refuses parts of the key that leave out one before them.
        """
        binding = self.binding
        *leading, last = binding.parts
        known = request.DESCRIPTOR.fields_by_name
        given: list[Any] = []
        for position, name in enumerate(leading):
            value = getattr(request, name) if name in known else ""
            if not value:
                continue
            if len(given) < position:
                before = leading[len(given)]
                raise Invalid(name, f"must be empty when no {before} is given")
            check_part(binding, name, value, name)
            given.append(value)
        field = f"{last}_prefix" if f"{last}_prefix" in known else "prefix"
        prefix = getattr(request, field, "")
        if prefix and len(given) < len(leading):
            raise Invalid(field, f"must be empty when no {leading[len(given)]} is given")
        if prefix:
            check_text(field, prefix, LONGEST_KEY)
            start, end = keys.opening(*given, prefix)
        else:
            start, end = keys.prefix(*given) if given else _ALL
        count = len(binding.resource.shard_by)
        if not count:
            return start, end, binding.resource.storage.shard_key
        if len(given) < count:
            return start, end, None
        return start, end, binding.shard_of(keys.pack(*given[:count]))

    async def _page(
        self,
        node: NodeApi,
        request: Any,
        start: bytes,
        end: bytes,
        shard_key: bytes | None,
        size: int,
        *,
        keys_only: bool = False,
    ) -> tuple[list[StoredRow], bytes, int]:
        """Return at most `size` rows and the key after which the next page begins."""
        keep = self.binding.resource.serving.keep
        filtered = request is not None and (
            (keep is not None and keep(request) is not None) or next(self._asked(request), None)
        )
        query = self.scan_rows(
            start=start,
            end=end,
            limit=size + 1,
            filter=request.SerializeToString() if filtered else b"",
            keys_only=keys_only,
            shard_key=shard_key,
        )
        found = await _read(node, query, request)
        rows: list[StoredRow] = []
        for row in found.rows:
            if len(rows) == size:
                return rows, rows[-1].key, found.age_ms
            if row.more:
                # The key itself is the last that the shard has looked at.
                return rows, row.key[:-1], found.age_ms
            rows.append(row)
        return rows, b"", found.age_ms


async def read_rows(
    node: NodeApi,
    resource: Resource[R],
    wanted: Sequence[bytes],
    consistency: Consistency = "linearizable",
) -> list[R | None]:
    """Return the rows of keys in their order; None where there is no row."""
    return await read_family(node, resource.family, resource.row, wanted, consistency)


async def read_family(
    node: NodeApi,
    family: str,
    row: type[R],
    wanted: Sequence[bytes],
    consistency: Consistency = "linearizable",
) -> list[R | None]:
    """Return the rows of keys of a resource's family, for keys that the resource itself names."""
    query = query_of(row.DESCRIPTOR.file.package, "Read", family, ReadRows)
    found = await node.read(query(keys=wanted), StoredRow, consistency=consistency)
    return [row.FromString(each.value) if each.key else None for each in found.rows]


def check_key_of(binding: Binding, item: Any, path: str) -> None:
    """Refuse an item with an invalid key."""
    for name in binding.resource.key:
        check_part(binding, name, attrgetter(name)(item), f"{path}{name}")


def check_part(binding: Binding, name: str, value: Any, path: str) -> None:
    """Refuse an invalid part of the key of a row."""
    check = binding.resource.check_key.get(name)
    if check is not None:
        check(path, value)
    elif isinstance(value, str):
        check_name(path, value)


def _holds(values: Any, wanted: Any) -> bool:
    """Return whether a list or a map has these items."""
    if hasattr(wanted, "items"):
        return all(key in values and values[key] == value for key, value in wanted.items())
    return all(value in values for value in wanted)


def _check_token(token: bytes) -> None:
    """Refuse a token that is not the key of a row, with which a page could have ended."""
    if len(token) <= LONGEST_KEY:
        with suppress(ValueError, IndexError):
            keys.unpack(token)
            return
    raise Invalid("page_token", "is not the token of a page")


def _read(node: NodeApi, query: Message, request: Any) -> Awaitable[Answers[StoredRow]]:
    """Read rows as fresh as a request wants them."""
    return node.read(
        query,
        StoredRow,
        consistency="stale" if getattr(request, "stale", False) else "linearizable",
        min_revision=getattr(request, "min_revision", 0),
    )


def _wrapping(binding: Binding, read: Read) -> tuple[Callable[[bytes | None], bytes], bool]:
    """Return the function that makes a row an element, and whether each name is answered."""
    assert read.rows is not None
    outer = read.rows.number
    kind = (binding.resource.serving.answer or binding.resource.row).DESCRIPTOR
    if read.rows.message_type is kind:
        return lambda row: head(outer, len(row or b"")) + (row or b""), False
    inner = inner_field(read.rows, kind).number
    return lambda row: embedded(outer, b"" if row is None else embedded(inner, row)), True
