"""Leases, and rows that go with them."""

from __future__ import annotations

from asyncio import run
from typing import Final

import pytest
from google.protobuf.message import Message
from quorate.client import InvalidError, RejectedError
from quorate.plugin import Fence
from quorate.testing import MemoryClient, MemoryNode
from quorate.v1.command_pb2 import Command
from quorate.v1.control_pb2 import OpenSession
from quorate.v1.kv_pb2 import DeletePair
from quorate_coordination.attachments import ATTACHMENT
from quorate_coordination.families import row_fence
from quorate_coordination.leases import LEASE
from quorate_coordination.v1 import leases_pb2 as pb

TTL_MS: Final = 10_000


class Leases:
    """Leases and pairs of three shards."""

    def __init__(self) -> None:
        self.node: Final = MemoryNode(["coordination", "kv"], shards={"metadata": 3}, at_ms=1_000)
        self.q: Final = MemoryClient(self.node)
        self.rows: Final = self.q.records(LEASE)

    def begin(self, name: str = "brokers/a") -> pb.Lease:
        return run(self.rows.create(pb.Lease(name=name, ttl_ms=TTL_MS)))

    def renew(self, name: str = "brokers/a", token: int = 0) -> int:
        renewal = pb.LeaseRenewal(name=name, token=token)
        renewed = run(self.rows.do("Renew", renewal, pb.LeaseRenewed))
        return int(renewed.expires_at_ms)

    def attach(self, lease: str, on_end: Message) -> Fence:
        command = Command(type=on_end.DESCRIPTOR.full_name, payload=on_end.SerializeToString())
        new = pb.NewAttachment(lease=lease, on_end=command)
        attached = run(self.q.records(ATTACHMENT).do("Attach", new, pb.Attachment))
        return Fence(row_fence(attached.id), attached.token)

    def put(self, key: str, fence: Fence | None = None) -> str:
        try:
            run(self.q.kv.put(key, b"here", fence=fence))
        except RejectedError as error:
            return error.code
        return ""

    def here(self, key: str) -> bool:
        return run(self.q.kv.exists(key))

    def advance(self, ms: int) -> None:
        run(self.node.advance(ms))

    def control(self) -> None:
        run(self.node.run_controller("coordination.ending"))

    def elsewhere(self) -> str:
        """Return the key of a pair that lies in another shard than the leases."""
        return next(
            key for key in map(str, range(100)) if self._shard(key) != self._shard("brokers")
        )

    def _shard(self, key: str) -> str:
        return run(self.q.shard_of("metadata", key.encode()))


@pytest.fixture
def leases() -> Leases:
    return Leases()


def test_a_lease_lasts_as_long_as_it_is_renewed(leases: Leases) -> None:
    began = leases.begin()
    assert leases.renew() == 1_000 + TTL_MS
    leases.advance(TTL_MS - 1)
    assert leases.renew(token=began.token) == 1_000 + 2 * TTL_MS - 1
    leases.advance(TTL_MS - 1)
    assert leases.renew()
    leases.advance(TTL_MS)

    with pytest.raises(RejectedError, match="NOT_FOUND: there is no lease brokers/a"):
        leases.renew()
    again = leases.begin()
    assert again.token > began.token
    with pytest.raises(RejectedError, match="NOT_FOUND: lease brokers/a has ended, and another"):
        leases.renew(token=began.token)


@pytest.mark.parametrize(
    ("lease", "field"),
    [
        (pb.Lease(name="a", ttl_ms=999), "ttl_ms"),
        (pb.Lease(name="a", ttl_ms=86_400_001), "ttl_ms"),
        (pb.Lease(name="", ttl_ms=TTL_MS), "name"),
        (pb.Lease(name="a" * 513, ttl_ms=TTL_MS), "name"),
        (pb.Lease(name="a\n", ttl_ms=TTL_MS), "name"),
        (pb.Lease(name="a", ttl_ms=TTL_MS, owner="b" * 257), "owner"),
    ],
)
def test_a_wrong_lease_is_refused_by_the_field(leases: Leases, lease: pb.Lease, field: str) -> None:
    with pytest.raises(InvalidError, match=rf"^{field}: "):
        run(leases.rows.create(lease))


def test_a_pair_goes_with_its_lease_in_the_same_entry(leases: Leases) -> None:
    leases.begin()
    fence = leases.attach("brokers/a", DeletePair(key=b"brokers/1"))
    assert leases.put("brokers/1", fence) == ""
    before = sum(each.shard.applied for each in leases.node.replicas.values())
    run(leases.rows.delete("brokers/a"))

    assert not leases.here("brokers/1")
    assert sum(each.shard.applied for each in leases.node.replicas.values()) == before + 1
    assert leases.put("brokers/1", fence) == "FENCED"


def test_a_pair_of_another_shard_goes_soon_after(leases: Leases) -> None:
    place = leases.elsewhere()
    leases.begin()
    fence = leases.attach("brokers/a", DeletePair(key=place.encode()))
    leases.put(place, fence)
    leases.advance(TTL_MS)
    assert leases.here(place)

    leases.control()
    assert not leases.here(place)
    assert leases.put(place, fence) == "FENCED"
    assert not leases.node.rows("coordination.attachments")


def test_whoever_attached_last_has_the_pair(leases: Leases) -> None:
    for name in ("brokers/a", "brokers/b"):
        leases.begin(name)
    deletion = DeletePair(key=b"brokers/1")
    first, second = (leases.attach(f"brokers/{name}", deletion) for name in "ab")
    assert leases.put("brokers/1", first) == "FENCED"
    assert leases.put("brokers/1", second) == ""

    run(leases.rows.delete("brokers/a"))
    assert leases.here("brokers/1")
    run(leases.rows.delete("brokers/b"))
    assert not leases.here("brokers/1")


def test_a_pair_of_another_shard_that_was_taken_over_stays(leases: Leases) -> None:
    place = leases.elsewhere()
    for name in ("brokers/a", "brokers/b"):
        leases.begin(name)
    first, second = (leases.attach(f"brokers/{n}", DeletePair(key=place.encode())) for n in "ab")
    leases.put(place, first)
    leases.put(place, second)
    run(leases.rows.delete("brokers/a"))
    leases.control()

    assert leases.here(place)


def test_a_detached_pair_stays(leases: Leases) -> None:
    leases.begin()
    fence = leases.attach("brokers/a", DeletePair(key=b"brokers/1"))
    leases.put("brokers/1", fence)
    [attached] = map(
        pb.Attachment.FromString, leases.node.rows("coordination.attachments").values()
    )
    run(
        leases.q.records(ATTACHMENT).do(
            "Detach", pb.AttachmentName(lease="brokers/a", id=attached.id)
        )
    )
    run(leases.rows.delete("brokers/a"))

    assert leases.here("brokers/1")


def test_a_row_of_any_resource_goes_with_a_lease(leases: Leases) -> None:
    leases.begin("brokers/a")
    leases.begin("brokers/b")
    leases.attach("brokers/a", pb.DeleteLeases(names=["brokers/b"]))
    run(leases.rows.delete("brokers/a"))

    assert run(leases.rows.get("brokers/b")) is None


@pytest.mark.parametrize("on_end", [pb.ExpireLeases(keys=[b"x"]), OpenSession(ttl_ms=1_000)])
def test_what_clients_must_not_send_cannot_be_attached(leases: Leases, on_end: Message) -> None:
    leases.begin()
    with pytest.raises(InvalidError, match=r"^on_end.type: "):
        leases.attach("brokers/a", on_end)


def test_what_cannot_be_carried_out_is_forgotten(leases: Leases) -> None:
    leases.begin()
    leases.attach("brokers/a", DeletePair())
    run(leases.rows.delete("brokers/a"))
    leases.control()

    assert not leases.node.rows("coordination.attachments")


def test_what_a_command_carries_beside_itself_is_refused(leases: Leases) -> None:
    leases.begin()
    command = Command(type="quorate.v1.DeletePair", timeout_ms=5)
    new = pb.NewAttachment(lease="brokers/a", on_end=command)
    with pytest.raises(InvalidError, match=r"^on_end.timeout_ms: must not be set"):
        run(leases.q.records(ATTACHMENT).do("Attach", new, pb.Attachment))
