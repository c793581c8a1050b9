"""A random script of a client of etcd: what it asks for depends on a seed and on the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from quorate_etcd.wire import rpc_pb2 as rpc

_Compare, _Range = rpc.Compare, rpc.RangeRequest

_KEYS: Final = (b"a", b"a/", b"a/1", b"a/2", b"a\0", b"b", b"b\xff", b"b\xff\xff", b"c", b"\xff")
_ENDS: Final = (b"", b"", b"\0", b"a", b"a0", b"b", b"b\xff", b"c", b"d", b"\xff\xff")
_VALUES: Final = (b"", b"1", b"2", b"3" * 40, b"4" * 5_000)
_TARGETS: Final = ("version", "create_revision", "mod_revision", "value", "lease")
_NOPUT: Final = rpc.WatchCreateRequest.NOPUT
_NODELETE: Final = rpc.WatchCreateRequest.NODELETE
_FILTERS: Final[Sequence[list[rpc.WatchCreateRequest.FilterType]]] = (
    [],
    [],
    [_NOPUT],
    [_NODELETE],
    [_NOPUT, _NODELETE],
)
_RESULTS: Final = (
    _Compare.EQUAL,
    _Compare.EQUAL,
    _Compare.GREATER,
    _Compare.LESS,
    _Compare.NOT_EQUAL,
)
_ORDERS: Final = (_Range.NONE, _Range.ASCEND, _Range.DESCEND)
_SORTED_BY: Final = (_Range.KEY, _Range.VERSION, _Range.CREATE, _Range.MOD, _Range.VALUE)
_LEASES: Final = (-3, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Step:
    """A call."""

    service: str
    method: str
    request: Any


@dataclass
class Script:
    """Makes the next step; `revision` and `compacted` are what the servers have answered."""

    random: Random
    revision: int = 1
    compacted: int = 0
    numbers: list[int] = field(default_factory=list)
    next_number: int = 10

    def step(self) -> Step:
        """Return the next call."""
        make = self.random.choices(
            (self._put, self._range, self._delete, self._txn, self._compact, self._lease,
             self._watch),
            (30, 22, 8, 24, 2, 9, 5),
        )[0]  # fmt: skip
        return make()

    def _put(self) -> Step:
        return Step("kv", "Put", self.put())

    def _range(self) -> Step:
        return Step("kv", "Range", self.range())

    def _delete(self) -> Step:
        return Step("kv", "DeleteRange", self.delete())

    def _txn(self) -> Step:
        return Step("kv", "Txn", self.txn(self.random.choice((0, 0, 1, 2))))

    def _compact(self) -> Step:
        request = rpc.CompactionRequest(
            revision=self.revision + self.random.choice((-60, -20, -5, -1, 0, 1)),
            physical=self.random.random() < 0.3,
        )
        return Step("kv", "Compact", request)

    def _lease(self) -> Step:
        lease = self.random.choice(_LEASES)
        match self.random.randrange(6):
            case 0 | 1:
                ttl = self.random.choice((3_600, 86_400, 9_000_000_000, 9_000_000_001))
                return Step("lease", "LeaseGrant", rpc.LeaseGrantRequest(ID=lease, TTL=ttl))
            case 2:
                return Step("lease", "LeaseRevoke", rpc.LeaseRevokeRequest(ID=lease))
            case 3:
                return Step("lease", "LeaseKeepAlive", rpc.LeaseKeepAliveRequest(ID=lease))
            case 4:
                return Step("lease", "LeaseLeases", rpc.LeaseLeasesRequest())
        return Step(
            "lease", "LeaseTimeToLive", rpc.LeaseTimeToLiveRequest(ID=lease, keys=self._often(0.5))
        )

    def _watch(self) -> Step:
        if self.numbers and self._often(0.5):
            number = self.numbers.pop(self.random.randrange(len(self.numbers)))
            return Step("watch", "Cancel", rpc.WatchCancelRequest(watch_id=number))
        number, self.next_number = self.next_number, self.next_number + 1
        start = self.random.choice((0, 0, self._past(), self._past(), self.revision + 3))
        filters = self.random.choice(_FILTERS)
        if len(filters) > 1:
            # Nobody can tell when a watch without events has gone through the past; a stock server
            # that is not through cancels it at the next compaction.
            start = 0
        request = rpc.WatchCreateRequest(
            key=self.random.choice((b"", *_KEYS)),
            range_end=self.random.choice(_ENDS),
            start_revision=start,
            filters=filters,
            prev_kv=self._often(0.5),
            watch_id=number,
            fragment=self._often(0.2),
        )
        return Step("watch", "Create", request)

    def put(self) -> rpc.PutRequest:
        """Return a put."""
        lease = self.random.choice((0, 0, 0, 0, *_LEASES))
        value = self.random.choice(_VALUES)
        ignores_value, ignores_lease = self._often(0.1), self._often(0.1)
        return rpc.PutRequest(
            key=self._key(),
            value=b"" if ignores_value and self._often(0.8) else value,
            lease=0 if ignores_lease and self._often(0.8) else lease,
            prev_kv=self._often(0.4),
            ignore_value=ignores_value,
            ignore_lease=ignores_lease,
        )

    def range(self) -> rpc.RangeRequest:
        """Return a range."""
        request = rpc.RangeRequest(
            key=self._key(),
            range_end=self.random.choice(_ENDS),
            limit=self.random.choice((0, 0, 0, 1, 2, 5, -1)),
            revision=self._revision(),
            serializable=self._often(0.2),
            keys_only=self._often(0.2),
            count_only=self._often(0.15),
        )
        if self._often(0.3):
            request.sort_order = self.random.choice(_ORDERS)
            request.sort_target = self.random.choice(_SORTED_BY)
        for name in ("min_mod", "max_mod", "min_create", "max_create"):
            if self._often(0.06):
                setattr(request, f"{name}_revision", self._past())
        return request

    def delete(self) -> rpc.DeleteRangeRequest:
        """Return a deletion."""
        return rpc.DeleteRangeRequest(
            key=self._key(),
            range_end=self.random.choice((b"", b"", *_ENDS)),
            prev_kv=self._often(0.5),
        )

    def txn(self, depth: int) -> rpc.TxnRequest:
        """Return a transaction with others in it."""
        return rpc.TxnRequest(
            compare=[self._compare() for _ in range(self.random.choice((0, 1, 1, 2)))],
            success=self._operations(depth),
            failure=self._operations(depth),
        )

    def _operations(self, depth: int) -> list[rpc.RequestOp]:
        if self._often(0.004):
            return [rpc.RequestOp(request_range=self.range()) for _ in range(129)]
        return [self._operation(depth) for _ in range(self.random.choice((0, 1, 1, 2, 3)))]

    def _operation(self, depth: int) -> rpc.RequestOp:
        if depth and self._often(0.4):
            return rpc.RequestOp(request_txn=self.txn(depth - 1))
        kind = self.random.choices((0, 1, 2, 3), (45, 40, 14, 1))[0]
        if kind == 0:
            return rpc.RequestOp(request_range=self.range())
        if kind == 1:
            return rpc.RequestOp(request_put=self.put())
        if kind == 2:
            request = self.delete()
            if request.range_end == b"\0":
                # A stock server does not see that such a deletion and a put have a key in common.
                request.range_end = b"\xff\xff"
            return rpc.RequestOp(request_delete_range=request)
        return rpc.RequestOp()

    def _compare(self) -> rpc.Compare:
        target = self.random.choice(
            ("version", "create_revision", "mod_revision", "value", "lease")
        )
        compare = rpc.Compare(
            result=self.random.choice(_RESULTS),
            target=_TARGETS.index(target),  # type: ignore[arg-type]
            key=self._key(),
            range_end=self.random.choice((b"", b"", b"", *_ENDS)),
        )
        if self._often(0.03):
            compare.result = 9  # type: ignore[assignment]
        if self._often(0.03):
            compare.target = 9  # type: ignore[assignment]
        match target:
            case "version":
                compare.version = self.random.choice((0, 1, 2))
            case "value":
                compare.value = self.random.choice(_VALUES)
            case "lease":
                compare.lease = self.random.choice((0, *_LEASES))
            case _:
                setattr(compare, target, self.random.choice((0, self._past())))
        if self._often(0.03):
            compare.ClearField("target_union")
        return compare

    def _key(self) -> bytes:
        return b"" if self._often(0.01) else self.random.choice(_KEYS)

    def _revision(self) -> int:
        return self.random.choice((0, 0, 0, 0, self._past(), self.revision, self.revision + 1, -1))

    def _past(self) -> int:
        return max(1, self.revision - self.random.choice((0, 1, 2, 5, 10, 30, 100)))

    def _often(self, part: float) -> bool:
        return self.random.random() < part
