"""Rows and commands as releases have written them: they are read for ever."""

from typing import Any

import pytest
from google.protobuf import text_format
from quorate_etcd import families
from quorate_etcd.store import sweeping
from quorate_etcd.store.transacting import request_of, transact_of
from quorate_etcd.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_etcd.wire import rpc_pb2 as rpc

_COMMAND = bytes.fromhex("10011a0a0a016b12013118072001")


def test_keys() -> None:
    plain, named = families.store_key(""), families.store_key("events")
    assert (plain, named) == (b"\x02\0", b"\x02events\0")
    assert families.store_of(named + b"\0\0key") == named
    assert families.end_of(named) == b"\x02events\x01"
    revision = families.revision_key(plain, 258, 3)
    assert revision == plain + bytes.fromhex("000000000000010200000003")
    past = families.past_key(plain, b"k\0", 258, 3)
    assert past == plain + bytes.fromhex("016b00ff00000000000000010200000003")
    assert families.lease_key(plain, -3) == plain + bytes.fromhex("13fc")
    assert families.attached_key(plain, 7, b"k") == plain + bytes.fromhex("1507016b00")


def test_a_command() -> None:
    put = rpc.PutRequest(key=b"k", value=b"1", lease=7, prev_kv=True)
    assert transact_of("", put) == pb.Transact.FromString(_COMMAND)
    assert request_of(pb.Transact.FromString(_COMMAND)) == put


async def test_rows(played: Any) -> None:
    await played.grant(7)
    await played.put(b"k", b"1", 7)
    await played.put(b"k", b"2")
    found = {
        family: [(key.hex(), row.hex()) for key, row in played.node.rows(family).items()]
        for family in (families.KEYS, families.REVISIONS, families.PAST, families.LEASES)
    }
    assert found == {
        families.KEYS: [("02006b", "0a02080310021802")],
        families.REVISIONS: [
            ("0200000000000000000200000000", "0a016b120131200228013007"),
            ("0200000000000000000300000000", "0a016b120132200228023a020802"),
        ],
        families.PAST: [("0200016b00000000000000000300000000", "0a020802100218012007")],
        families.LEASES: [("02001507", "083c")],
    }
    [stored] = played.node.rows(families.TRANSACTIONS).values()
    wanted = """
        revision: 3 compacted: -1 cleaned: -1
        changes { key: "k" create_revision: 2 version: 2 value: "2" previous { revision: 2 } }
    """
    assert rows.Transaction.FromString(stored) == text_format.Parse(wanted, rows.Transaction())


async def test_a_sweep(played: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "MOST_DIRECT", 0)
    await played.put(b"k", b"1")
    await played.delete(b"k", b"l")
    [stored] = played.node.rows(families.TRANSACTIONS).values()
    wanted = """
        revision: 3 compacted: -1 cleaned: -1
        sweeps { place { revision: 3 } start: "k" end: "l" keys: 1 }
    """
    assert rows.Transaction.FromString(stored) == text_format.Parse(wanted, rows.Transaction())
    assert stored.hex() == "080310011801420c0a02080312016b1a016c2801"
    await played.node.advance(10)
    found = {key.hex(): row.hex() for key, row in played.node.rows(families.REVISIONS).items()}
    assert found["0200000000000000000300000000026b"] == "0a016b18013a020802"
    assert list(played.node.rows(families.PAST)) == [families.past_key(b"\x02\0", b"k", 3, 0)]
