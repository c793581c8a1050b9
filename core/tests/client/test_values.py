"""What callers give and get: texts, names in errors, and what a client says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import AsyncClient, Client, DeadlineError, InvalidError, KeyValue, WatchedChange
from quorate.client.watching import ChangeKind
from quorate.testing.ports import free_ports
from quorate.v1.kv_pb2 import PutPair

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster

PAIR = KeyValue(key=b"a", value=b"\xc3\xa9", revision=1, created_revision=1, ttl_ms=0)


def test_keys_and_values_are_read_as_texts() -> None:
    assert (PAIR.name, PAIR.text) == ("a", "é")
    change = WatchedChange(kind=ChangeKind.PUT, key=b"k", value=b"v")
    assert (change.name, change.text) == ("k", "v")
    raw = KeyValue(key=b"a", value=b"\xff", revision=1, created_revision=1, ttl_ms=0)
    with pytest.raises(InvalidError, match=r"^value: is no UTF-8"):
        _ = raw.text


async def test_texts_are_written_as_their_utf_8(cluster: FakeCluster, q: AsyncClient) -> None:
    await q.kv.put(cluster.first, "é")
    [command] = [each for node in cluster.nodes.values() for each in node.commands]
    assert PutPair.FromString(command.payload).value == b"\xc3\xa9"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("k", 5), "value"),
        ((5, "v"), "key"),
        (("\ud800", "v"), "key"),
    ],
)
async def test_an_error_names_the_parameter(arguments: Any, field: str) -> None:
    async with AsyncClient("127.0.0.1:1") as q:
        with pytest.raises(InvalidError) as raised:
            await q.kv.put(*arguments)
        assert raised.value.field == field


@pytest.mark.parametrize(("name", "given"), [("ttl_ms", -1), ("ttl_ms", 1.5), ("ttl_ms", True)])
async def test_an_error_names_the_number(name: str, given: Any) -> None:
    async with AsyncClient("127.0.0.1:1") as q:
        with pytest.raises(InvalidError) as raised:
            await q.kv.put("k", "v", **{name: given})
        assert raised.value.field == name


async def test_an_error_names_the_pair_of_many() -> None:
    async with AsyncClient("127.0.0.1:1") as q:
        wrong: Any = [("a", "1"), ("b", None)]
        with pytest.raises(InvalidError, match=r"^pairs\[1\]\.value: must be str or bytes, not No"):
            await q.kv.put_many(wrong)
        with pytest.raises(InvalidError, match=r"^operations\[1\]\.value: must be str or bytes"):
            await q.kv.commit(wrong)
        with pytest.raises(InvalidError, match=r"^operations\[0\]: must be a key and its value"):
            await q.kv.commit(["jobs/1"])  # type: ignore[list-item]


async def test_a_client_names_its_endpoints_and_its_cluster(
    cluster: FakeCluster, q: AsyncClient
) -> None:
    assert repr(q).endswith("not connected>")
    await q.kv.put(cluster.first, b"1")
    assert repr(q).endswith(f"cluster {b'fake'.hex()}>")
    await q.close()
    assert repr(q).endswith(", closed>")
    with Client("127.0.0.1:1") as twin:
        assert repr(twin) == "<Client 127.0.0.1:1, not connected>"


async def test_who_reaches_no_node_is_told_before_the_deadline_of_the_call() -> None:
    [port] = free_ports(1)
    async with AsyncClient(f"127.0.0.1:{port}", timeout_s=3_600, connect_timeout_s=0.2) as q:
        with pytest.raises(DeadlineError, match=f"127.0.0.1:{port}"):
            await q.kv.get("k")


@pytest.mark.parametrize("name", ["timeout_s", "connect_timeout_s"])
@pytest.mark.parametrize("given", [0, -1, "5", None])
def test_a_time_that_is_none_is_named(name: str, given: Any) -> None:
    with pytest.raises(InvalidError, match=f"^{name}: must be more than 0 seconds"):
        AsyncClient("127.0.0.1:1", **{name: given})
