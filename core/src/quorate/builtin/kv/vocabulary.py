"""The words for changing and reading pairs: all that a client needs to know of the domain."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from quorate.builtin.kv import queries
from quorate.builtin.kv.families import GROUP, shard_of
from quorate.builtin.kv.validation import (
    check_all_named,
    check_commit,
    check_commits,
    check_named,
    check_put,
    check_puts,
)
from quorate.plugin import Command, Items, Query
from quorate.v1.kv_pb2 import (
    CommitPairs,
    CommitPairsBatch,
    DeletePair,
    DeletePairs,
    ExpirePairs,
    GetPair,
    GetPairResponse,
    GetPairs,
    GetPairsResponse,
    ListedPair,
    ListPairs,
    PairComparison,
    PairOperation,
    PutPair,
    PutPairs,
    TouchPair,
    TouchPairs,
)


def _shard_of_operation(operation: PairOperation) -> bytes:
    kind = operation.WhichOneof("operation")
    return shard_of(getattr(operation, kind).key) if kind is not None else b""


def _shard_of_commit(command: CommitPairs) -> bytes:
    """Return the shard key that all keys of a transaction have."""
    return _shard_of_operation(command.operations[0]) if command.operations else b""


_PUT: Final = PutPair(key=b"brokers/1", value=b"idle")
_LEASE: Final = PutPair(key=b"locks/leader", value=b"broker 1", ttl_ms=10_000)
_DELETE: Final = DeletePair(key=b"brokers/1")
_TOUCH: Final = TouchPair(key=b"locks/leader")
_COMMIT: Final = CommitPairs(
    comparisons=[PairComparison(key=b"jobs/9", expected_revision=0)],
    operations=[
        PairOperation(put=PutPair(key=b"jobs/1", value=b"taken", ttl_ms=5_000)),
        PairOperation(delete=DeletePair(key=b"jobs/2")),
    ],
)
_RENEWAL: Final = CommitPairs(
    operations=[
        PairOperation(touch=TouchPair(key=b"jobs/1")),
        PairOperation(put=PutPair(key=b"jobs/2", value=b"open")),
    ],
)
_ABSENT: Final = PutPair(key=b"brokers/2", value=b"idle", expected_revision=0)


def _shard_of(pair: PutPair | TouchPair | DeletePair) -> bytes:
    # As `shard_of`, without a second call: it runs for each item of each batch.
    return pair.key.partition(b"/")[0]


COMMANDS: Final[Sequence[Command[Any]]] = (
    Command(
        message=PutPair,
        group=GROUP,
        shard_key=_shard_of,
        validate=check_put,
        public=True,
        examples=(_PUT, _LEASE, _ABSENT),
    ),
    Command(
        message=PutPairs,
        group=GROUP,
        items=Items(
            get=lambda command: command.pairs,
            shard_key=_shard_of,
            make=lambda _, pairs: PutPairs(pairs=pairs),
            key=attrgetter("key"),
        ),
        validate=check_puts,
        public=True,
        examples=(PutPairs(pairs=[_LEASE, _PUT, _ABSENT]),),
    ),
    Command(
        message=TouchPair,
        group=GROUP,
        shard_key=_shard_of,
        validate=check_named,
        public=True,
        examples=(_TOUCH,),
    ),
    Command(
        message=TouchPairs,
        group=GROUP,
        items=Items(
            get=lambda command: command.pairs,
            shard_key=_shard_of,
            make=lambda _, pairs: TouchPairs(pairs=pairs),
            key=attrgetter("key"),
        ),
        validate=check_all_named,
        public=True,
        examples=(TouchPairs(pairs=[TouchPair(key=b"brokers/1"), _TOUCH]),),
    ),
    Command(
        message=DeletePair,
        group=GROUP,
        shard_key=_shard_of,
        validate=check_named,
        public=True,
        examples=(_DELETE,),
    ),
    Command(
        message=DeletePairs,
        group=GROUP,
        items=Items(
            get=lambda command: command.pairs,
            shard_key=_shard_of,
            make=lambda _, pairs: DeletePairs(pairs=pairs),
            key=attrgetter("key"),
        ),
        validate=check_all_named,
        public=True,
        examples=(DeletePairs(pairs=[_DELETE, DeletePair(key=b"brokers/9")]),),
    ),
    Command(
        message=CommitPairs,
        group=GROUP,
        shard_key=_shard_of_commit,
        validate=check_commit,
        public=True,
        examples=(_COMMIT, _RENEWAL),
    ),
    Command(
        message=CommitPairsBatch,
        group=GROUP,
        items=Items(
            get=lambda command: command.transactions,
            shard_key=_shard_of_commit,
            make=lambda _, transactions: CommitPairsBatch(transactions=transactions),
        ),
        validate=check_commits,
        public=True,
        examples=(CommitPairsBatch(transactions=[_COMMIT, _RENEWAL]),),
    ),
    Command(
        message=ExpirePairs,
        group=GROUP,
        items=Items(
            get=lambda command: command.keys,
            shard_key=shard_of,
            make=lambda _, keys: ExpirePairs(keys=keys),
            key=lambda key: key,
        ),
        examples=(ExpirePairs(keys=[b"locks/leader"]),),
    ),
)

QUERIES: Final[Sequence[Query[Any]]] = (
    Query(
        message=GetPair,
        group=GROUP,
        run=queries.get_pair,
        row=GetPairResponse,
        shard_key=lambda query: shard_of(query.key),
    ),
    Query(
        message=GetPairs,
        group=GROUP,
        run=queries.get_pairs,
        row=GetPairsResponse,
        items=Items(
            get=lambda query: query.keys,
            shard_key=shard_of,
            make=lambda query, keys: GetPairs(keys=keys, keys_only=query.keys_only),
        ),
    ),
    Query(
        message=ListPairs,
        group=GROUP,
        run=queries.list_pairs,
        row=ListedPair,
        order=queries.listed_key,
    ),
)
