"""The commands, routes and queries of pairs: all that a client needs of the domain."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from google.protobuf.message import Message

from quorate.builtin.kv import apply, queries
from quorate.builtin.kv.families import GROUP, shard_of
from quorate.builtin.kv.validation import (
    check_all_named,
    check_commit,
    check_commits,
    check_named,
    check_put,
    check_puts,
)
from quorate.plugin import Access, Command, Items, Query
from quorate.plugin.access import Place
from quorate.v1 import kv_pb2 as pb


def _shard_of_operation(operation: pb.PairOperation) -> bytes:
    kind = operation.WhichOneof("operation")
    return shard_of(getattr(operation, kind).key) if kind is not None else b""


def _shard_of_commit(command: pb.CommitPairs) -> bytes:
    """Return the shard key that all keys of a transaction have."""
    return _shard_of_operation(command.operations[0]) if command.operations else b""


def _key_of(pair: pb.PutPair | pb.TouchPair | pb.DeletePair) -> Sequence[bytes]:
    return (pair.key,)


def _keys_of_commit(command: pb.CommitPairs) -> Sequence[bytes]:
    return [getattr(each, each.WhichOneof("operation")).key for each in command.operations]


_PUT: Final = pb.PutPair(key=b"brokers/1", value=b"idle")
_LEASE: Final = pb.PutPair(key=b"locks/leader", value=b"broker 1", ttl_ms=10_000)
_DELETE: Final = pb.DeletePair(key=b"brokers/1")
_TOUCH: Final = pb.TouchPair(key=b"locks/leader")
_COMMIT: Final = pb.CommitPairs(
    comparisons=[pb.PairComparison(key=b"jobs/9", expected_revision=0)],
    operations=[
        pb.PairOperation(put=pb.PutPair(key=b"jobs/1", value=b"taken", ttl_ms=5_000)),
        pb.PairOperation(delete=pb.DeletePair(key=b"jobs/2")),
    ],
)
_RENEWAL: Final = pb.CommitPairs(
    operations=[
        pb.PairOperation(touch=pb.TouchPair(key=b"jobs/1")),
        pb.PairOperation(put=pb.PutPair(key=b"jobs/2", value=b"open")),
    ],
)
_ABSENT: Final = pb.PutPair(key=b"brokers/2", value=b"idle", expected_revision=0)


def _shard_of(pair: pb.PutPair | pb.TouchPair | pb.DeletePair) -> bytes:
    # As `shard_of`, without a second call: it runs for each item of each batch.
    return pair.key.partition(b"/")[0]


def _touched(command: pb.CommitPairs) -> Iterator[Place]:
    """Yield all keys of a transaction, also the compared ones: a comparison reveals its pair."""
    for comparison in command.comparisons:
        yield "", comparison.key
    for operation in command.operations:
        if (kind := operation.WhichOneof("operation")) is not None:
            yield "", getattr(operation, kind).key


_WRITE: Final = Access(right="write", key="key")
_COMMITS: Final = Access(right="write", places=_touched)


def _single(
    message: type[Message], apply: Any, shard_key: Any, validate: Any, *examples: Message
) -> Any:
    return Command(
        message=message,
        group=GROUP,
        apply=apply,
        shard_key=shard_key,
        keys=_keys_of_commit if message is pb.CommitPairs else _key_of,
        validate=validate,
        public=True,
        access=_COMMITS if message is pb.CommitPairs else _WRITE,
        examples=examples,
    )


def _batch(
    message: Any, apply: Any, field: str, shard_key: Any, validate: Any, *examples: Any
) -> Any:
    """Return a command of many items; one of pairs names each key once."""
    return Command(
        message=message,
        group=GROUP,
        apply=apply,
        items=Items.of(
            field, shard_key=shard_key, key=attrgetter("key") if field == "pairs" else None
        ),
        keys=_keys_of_commit if field == "transactions" else _key_of,
        validate=validate,
        public=True,
        access=_WRITE if field == "pairs" else _COMMITS,
        examples=(message(**{field: examples}),),
    )


COMMANDS: Final[Sequence[Command[Any]]] = (
    _single(pb.PutPair, apply.put_pair, _shard_of, check_put, _PUT, _LEASE, _ABSENT),
    _batch(pb.PutPairs, apply.put_pairs, "pairs", _shard_of, check_puts, _LEASE, _PUT, _ABSENT),
    _single(pb.TouchPair, apply.touch_pair, _shard_of, check_named, _TOUCH),
    _batch(
        pb.TouchPairs,
        apply.touch_pairs,
        "pairs",
        _shard_of,
        check_all_named,
        pb.TouchPair(key=b"brokers/1"),
        _TOUCH,
    ),
    _single(pb.DeletePair, apply.delete_pair, _shard_of, check_named, _DELETE),
    _batch(
        pb.DeletePairs,
        apply.delete_pairs,
        "pairs",
        _shard_of,
        check_all_named,
        _DELETE,
        pb.DeletePair(key=b"brokers/9"),
    ),
    _single(pb.CommitPairs, apply.commit_pairs, _shard_of_commit, check_commit, _COMMIT, _RENEWAL),
    _batch(
        pb.CommitPairsBatch,
        apply.commit_pairs_batch,
        "transactions",
        _shard_of_commit,
        check_commits,
        _COMMIT,
        _RENEWAL,
    ),
    Command(
        message=pb.ExpirePairs,
        group=GROUP,
        apply=apply.expire_pairs,
        items=Items.of("keys", shard_key=shard_of, key=bytes),
        examples=(pb.ExpirePairs(keys=[b"locks/leader"]),),
    ),
)

QUERIES: Final[Sequence[Query[Any]]] = (
    # Nodes of 0.1 forward it; those of later releases ask for one of many pairs.
    Query(
        message=pb.GetPair,
        group=GROUP,
        run=queries.get_pair,
        row=pb.GetPairResponse,
        shard_key=lambda query: shard_of(query.key),
    ),
    Query(
        message=pb.GetPairs,
        group=GROUP,
        run=queries.get_pairs,
        row=pb.GetPairsResponse,
        items=Items.of("keys", shard_key=shard_of),
    ),
    Query(
        message=pb.ListPairs,
        group=GROUP,
        run=queries.list_pairs,
        row=pb.ListedPair,
        order=queries.listed_key,
    ),
)
