"""The rights that a request needs, however much there is of what it names."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryTxn
from quorate_etcd import errors
from quorate_etcd.auth.permissions import Need, demand
from quorate_etcd.auth.rows import GUARDS, ROLES, USERS, named_key
from quorate_etcd.families import LEASE_KEYS, attached_key, store_key
from quorate_etcd.v1 import guard_pb2 as pb
from quorate_etcd.wire import auth_pb2 as auth

STORE, USER, ROLE, LEASE = "", "alice", "r", 7
PREFIX = store_key(STORE)
GIVEN = ((b"b", b"c"), (b"d", b""), (b"f\0", b"g"))


def store_with(attached: Iterable[bytes], end: bytes = b"") -> MemoryTxn:
    """Return a store with a lease of keys, and a user with rights to write some of them."""
    given = (*GIVEN, (b"x", end)) if end else GIVEN
    role = pb.Role(
        permissions=[
            auth.Permission(permType=auth.Permission.WRITE, key=key, range_end=end)
            for key, end in given
        ]
    )
    keys = {attached_key(PREFIX, LEASE, key): b"" for key in attached}
    # Those of other leases are of no account.
    keys |= {attached_key(PREFIX, other, b"a"): b"" for other in (LEASE - 1, LEASE + 1, LEASE << 8)}
    rows = {
        GUARDS: {PREFIX: pb.Guard(auth_enabled=True).SerializeToString()},
        USERS: {named_key(STORE, USER): pb.User(roles=[ROLE]).SerializeToString()},
        ROLES: {named_key(STORE, ROLE): role.SerializeToString()},
        LEASE_KEYS: keys,
    }
    return MemoryTxn(rows=rows, plugin="etcd")


def is_admitted(store: MemoryTxn) -> bool:
    try:
        demand(store, STORE, USER, [Need(True, lease=LEASE)])
    except Rejected as refusal:
        return refusal.message != errors.PERMISSION_DENIED.text
    return True


@pytest.mark.parametrize("key", [b"b", b"b\xff", b"d", b"f\0", b"f\0\0", b"f\xff"])
def test_a_lease_of_own_keys_is_admitted(key: bytes) -> None:
    assert is_admitted(store_with([key]))
    assert is_admitted(store_with([key, b"d"]))


@pytest.mark.parametrize("key", [b"\0", b"a", b"c", b"d\0", b"f", b"g", b"z"])
def test_a_key_of_others_is_found(key: bytes) -> None:
    assert not is_admitted(store_with([key]))
    assert not is_admitted(store_with([b"b", key, b"d"]))


def test_all_keys_from_one_on_may_be_given() -> None:
    assert is_admitted(store_with([b"d", b"x", b"z"], b"\0"))
    assert not is_admitted(store_with([b"d", b"w"], b"\0"))


def test_a_key_of_others_is_found_behind_any_number_of_own_ones() -> None:
    own = [b"b%06d" % number for number in range(100_001)]
    assert not is_admitted(store_with([*own, b"z"]))
    assert is_admitted(store_with(own))
