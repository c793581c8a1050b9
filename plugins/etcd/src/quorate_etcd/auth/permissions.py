"""The rights of a user to read and write: the union of the ranges of its roles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from quorate.plugin import Reader

from quorate_etcd import errors
from quorate_etcd.auth.rows import guard_of, role_of, user_of
from quorate_etcd.families import LEASE_KEYS, attached_key, lease_key, store_key
from quorate_etcd.store.view import Span
from quorate_etcd.v1 import guard_pb2 as pb
from quorate_etcd.wire import auth_pb2 as auth, rpc_pb2 as rpc

ROOT: Final = "root"
_READ, _WRITE, _BOTH = auth.Permission.READ, auth.Permission.WRITE, auth.Permission.READWRITE


class Need(NamedTuple):
    """A right that a request needs: on a range, or on all keys of a lease."""

    writes: bool
    key: bytes = b""
    range_end: bytes = b""
    lease: int = 0


def is_range(key: bytes, range_end: bytes) -> bool:
    """Whether a permission may be given for a range."""
    return bool(key) and (range_end in (b"", b"\0") or key < range_end)


def needs(request: Any) -> Iterator[Need]:
    """Yield the rights that a request to the service KV needs."""
    if isinstance(request, rpc.RangeRequest):
        yield Need(False, request.key, request.range_end)
    elif isinstance(request, rpc.PutRequest):
        yield Need(True, request.key)
        if request.prev_kv:
            yield Need(False, request.key)
        if request.lease:
            yield Need(True, lease=request.lease)
    elif isinstance(request, rpc.DeleteRangeRequest):
        yield Need(True, request.key, request.range_end)
        if request.prev_kv:
            yield Need(False, request.key, request.range_end)
    else:
        for compare in request.compare:
            yield Need(False, compare.key, compare.range_end)
        for operation in (*request.success, *request.failure):
            kind = operation.WhichOneof("request")
            if kind is not None:
                yield from needs(getattr(operation, kind))


def demand(reader: Reader, store: str, user: str, needed: Iterable[Need]) -> None:
    """Refuse a request that exceeds the rights of its user; while users do not count, none does."""
    if not guard_of(reader, store).auth_enabled:
        return
    rights = rights_of(reader, store, user)
    if rights.root:
        return
    for need in needed:
        if need.lease:
            for span in rights.lacking(writes=need.writes):
                if _is_attached(reader, store, need.lease, span):
                    errors.PERMISSION_DENIED.refuse()
        else:
            rights.demand(need)


def _is_attached(reader: Reader, store: str, lease: int, span: Span) -> bool:
    """Whether a key of a span has a lease."""
    prefix = store_key(store)
    end = (
        lease_key(prefix, lease) + b"\xff"
        if span.end is None
        else attached_key(prefix, lease, span.end)
    )
    found = reader.scan(LEASE_KEYS, attached_key(prefix, lease, span.start), end, limit=1)
    return any(True for _ in found)


def demand_root(reader: Reader, store: str, user: str) -> None:
    """Refuse all but root."""
    if guard_of(reader, store).auth_enabled and not rights_of(reader, store, user).root:
        errors.PERMISSION_DENIED.refuse()


def rights_of(reader: Reader, store: str, user: str) -> Rights:
    """Return the rights of a user; refuses an unknown name."""
    if not user:
        errors.EMPTY_USER.refuse()
    found = user_of(reader, store, user)
    if found is None:
        errors.PERMISSION_DENIED.refuse()
    roles = (role_of(reader, store, name) for name in found.roles)
    return Rights(found, [each for each in roles if each is not None])


class Rights:
    """The rights of a user."""

    def __init__(self, user: pb.User, roles: Iterable[pb.Role]) -> None:
        #: Whether it may do everything.
        self.root: Final = ROOT in user.roles
        granted = [each for role in roles for each in role.permissions]
        self._reads: Final = _joined(each for each in granted if each.permType in (_READ, _BOTH))
        self._writes: Final = _joined(each for each in granted if each.permType in (_WRITE, _BOTH))

    def demand(self, need: Need) -> None:
        """Refuse a need that they do not cover."""
        if not self.root and not self.covers(need):
            errors.PERMISSION_DENIED.refuse()

    def lacking(self, *, writes: bool) -> Iterator[Span]:
        """Yield the keys that may not be read, or written."""
        start = b""
        for span in self._writes if writes else self._reads:
            if start < span.start:
                yield Span(start, span.start)
            if span.end is None:
                return
            start = span.end
        yield Span(start, None)

    def covers(self, need: Need) -> bool:
        """Whether a range lies within the ranges that may be read, or written."""
        wanted = Span.of(need.key or b"\0", need.range_end)
        return any(
            span.start <= wanted.start
            and (span.end is None or (wanted.end is not None and wanted.end <= span.end))
            for span in (self._writes if need.writes else self._reads)
        )


def _joined(permissions: Iterable[auth.Permission]) -> list[Span]:
    """Return ranges as few that do not touch, in their order."""
    joined: list[Span] = []
    for span in sorted(
        (Span.of(each.key, each.range_end) for each in permissions), key=lambda span: span.start
    ):
        last = joined[-1] if joined else None
        if last is None or (last.end is not None and last.end < span.start):
            joined.append(span)
        elif last.end is not None and (span.end is None or span.end > last.end):
            joined[-1] = Span(last.start, span.end)
    return joined
