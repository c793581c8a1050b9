"""The commands, routes and queries of pairs: all that a client needs of the domain."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

from quorate.builtin.kv import apply, queries
from quorate.builtin.kv.families import GROUP, shard_of
from quorate.builtin.kv.putting import Puts
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


def _shard_of_commit(command: pb.CommitPairs) -> bytes:
    """Return the shard key that all keys of a transaction have."""
    return next(map(shard_of, _keys_of_commit(command)), b"")


def _key_of(pair: pb.PutPair | pb.TouchPair | pb.DeletePair) -> Sequence[bytes]:
    return (pair.key,)


def _keys_of_commit(command: pb.CommitPairs) -> Sequence[bytes]:
    kinds = ((each, each.WhichOneof("operation")) for each in command.operations)
    return [getattr(each, kind).key for each, kind in kinds if kind is not None]


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
    compared = (each.key for each in command.comparisons)
    yield from (("", key) for key in (*compared, *_keys_of_commit(command)))


_WRITE: Final = Access(right="write", key="key")
_COMMITS: Final = Access(right="write", places=_touched)


def _public(message: Any, apply: Any, validate: Any, *examples: Any, field: str = "") -> Any:
    """Return a public command: of an item, or of the items in a field.

    A command of many pairs names each key once.
    """
    commits = message in (pb.CommitPairs, pb.CommitPairsBatch)
    shard_key: Any = _shard_of_commit if commits else _shard_of
    key = None if commits else attrgetter("key")
    return Command(
        message=message,
        group=GROUP,
        apply=apply,
        shard_key=None if field else shard_key,
        items=Items.of(field, shard_key=shard_key, key=key) if field else None,
        keys=_keys_of_commit if commits else _key_of,
        validate=validate,
        public=True,
        access=_COMMITS if commits else _WRITE,
        examples=(message(**{field: examples}),) if field else examples,
    )


_TOUCHES: Final = (pb.TouchPair(key=b"brokers/1"), _TOUCH)
_DELETES: Final = (_DELETE, pb.DeletePair(key=b"brokers/9"))
_TRANSACTIONS: Final = (_COMMIT, _RENEWAL)
_PUTS: Final = _public(
    pb.PutPairs, apply.put_pairs, check_puts, _LEASE, _PUT, _ABSENT, field="pairs"
)
_USUAL: Final = pb.PutPairs(pairs=[_PUT, pb.PutPair(key=b"jobs/3", value=b"open")])

COMMANDS: Final[Sequence[Command[Any]]] = (
    _public(pb.PutPair, apply.put_pair, check_put, _PUT, _LEASE, _ABSENT),
    replace(
        _PUTS,
        items=replace(_PUTS.items, read=Puts.usual),
        examples=(*_PUTS.examples, _USUAL),
    ),
    _public(pb.TouchPair, apply.touch_pair, check_named, _TOUCH),
    _public(pb.TouchPairs, apply.touch_pairs, check_all_named, *_TOUCHES, field="pairs"),
    _public(pb.DeletePair, apply.delete_pair, check_named, _DELETE),
    _public(pb.DeletePairs, apply.delete_pairs, check_all_named, *_DELETES, field="pairs"),
    _public(pb.CommitPairs, apply.commit_pairs, check_commit, *_TRANSACTIONS),
    _public(
        pb.CommitPairsBatch,
        apply.commit_pairs_batch,
        check_commits,
        *_TRANSACTIONS,
        field="transactions",
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
