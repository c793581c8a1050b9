"""Checks of commands and reads that need no rows."""

from collections.abc import Sequence
from typing import Final

from quorate.builtin.kv.families import LONGEST_KEY, quoted, shard_of
from quorate.plugin import Invalid
from quorate.plugin.checking import check_bytes, check_each, check_most
from quorate.v1 import kv_pb2 as pb

#: Ten years: a deadline must fit into 64 bits, and a longer life needs no end.
LONGEST_TTL_MS: Final = 10 * 366 * 24 * 3_600 * 1_000
#: Comparisons and operations of one transaction.
MOST_STEPS: Final = 128
#: Keys of one read.
MOST_KEYS: Final = 1_000


def check_key(key: bytes, field: str = "key") -> None:
    """Refuse a key that is empty or too long."""
    if not key:
        raise Invalid(field, "must not be empty")
    check_bytes(field, key, LONGEST_KEY)


def check_put(command: pb.PutPair, path: str = "") -> None:
    """Refuse a put with an invalid key, or with a time to live that is too long."""
    check_key(command.key, f"{path}key")
    check_most(f"{path}ttl_ms", command.ttl_ms, LONGEST_TTL_MS)


def check_puts(command: pb.PutPairs) -> None:
    """Refuse a batch with an invalid put, and name the put."""
    for position, pair in enumerate(command.pairs):
        # Most puts are valid, and building paths for all of them takes longer than checking them.
        if not 0 < len(pair.key) <= LONGEST_KEY or pair.ttl_ms > LONGEST_TTL_MS:
            check_put(pair, f"pairs[{position}].")


def check_named(command: pb.DeletePair | pb.TouchPair) -> None:
    """Refuse a delete or a touch with an invalid key."""
    check_key(command.key)


def check_all_named(command: pb.DeletePairs | pb.TouchPairs) -> None:
    """Refuse a batch with an item that has an invalid key, and name the item."""
    pairs: Sequence[pb.DeletePair | pb.TouchPair] = command.pairs
    for position, pair in enumerate(pairs):
        check_key(pair.key, f"pairs[{position}].key")


def check_commit(command: pb.CommitPairs, path: str = "") -> None:
    """Refuse a transaction that is empty, too long, changes a key twice, or spans shard keys."""
    steps = len(command.comparisons) + len(command.operations)
    if not command.operations:
        raise Invalid(f"{path}operations", "must not be empty")
    if steps > MOST_STEPS:
        raise Invalid(
            f"{path}operations",
            f"{steps} comparisons and operations; at most {MOST_STEPS} together allowed",
        )
    changed = [
        _changed(operation, f"{path}operations[{position}]")
        for position, operation in enumerate(command.operations)
    ]
    compared = [
        (f"{path}comparisons[{position}].key", comparison.key)
        for position, comparison in enumerate(command.comparisons)
    ]
    shard = shard_of(changed[0][1])
    for field, key in (*changed, *compared):
        check_key(key, field)
        if shard_of(key) != shard:
            raise Invalid(
                field,
                f"{quoted(key)} lies outside of {quoted(shard)}: up to their first '/' all keys of "
                "a transaction are equal",
            )
    seen: set[bytes] = set()
    for field, key in changed:
        if key in seen:
            raise Invalid(field, f"{quoted(key)} is in an earlier operation too")
        seen.add(key)


def check_commits(command: pb.CommitPairsBatch) -> None:
    """Refuse a batch with an invalid transaction, and name the transaction."""
    check_each("transactions", command.transactions, check_commit)


def check_keys(keys: Sequence[bytes]) -> None:
    """Refuse a read of too many keys, or of an invalid one."""
    if len(keys) > MOST_KEYS:
        raise Invalid("keys", f"{len(keys)} keys; at most {MOST_KEYS} allowed; read several times")
    for position, key in enumerate(keys):
        if not 0 < len(key) <= LONGEST_KEY:
            check_key(key, f"keys[{position}]")


def check_list(request: pb.ListPairsRequest) -> None:
    """Refuse a list with a bound longer than any key, or with its end before its start."""
    check_bytes("prefix", request.prefix, LONGEST_KEY)
    check_bytes("start", request.start, LONGEST_KEY)
    check_bytes("end", request.end, LONGEST_KEY)
    check_bytes("page_token", request.page_token, LONGEST_KEY)
    if request.end and request.end < request.start:
        raise Invalid("end", f"{quoted(request.end)} lies before start, {quoted(request.start)}")


def _changed(operation: pb.PairOperation, path: str) -> tuple[str, bytes]:
    """Return the field of the key that an operation changes, and the key; check a put."""
    kind = operation.WhichOneof("operation")
    if kind is None:
        raise Invalid(path, "must be one of put, delete, touch")
    if kind == "put":
        check_put(operation.put, f"{path}.put.")
    key: bytes = getattr(operation, kind).key
    return f"{path}.{kind}.key", key
