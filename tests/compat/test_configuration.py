"""Every log begins with such bytes, and the name of a cluster is a hash of them."""

from pathlib import Path

from quorate.consensus.formation import cluster_id
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer

GOLDEN = Path(__file__).parent / "golden" / "configuration.bin"

CONFIGURATION = Configuration.of(
    [
        Member(Peer("node-2", 0x0123456789ABCDEF)),
        Member(Peer("node-1", 1)),
        Member(Peer("node-4", 2**63), voter=False),
        Member(Peer("knoten-ü", 2**64 - 1)),
    ]
)


def test_a_configuration_is_encoded_as_ever() -> None:
    assert CONFIGURATION.encode() == GOLDEN.read_bytes()


def test_a_configuration_of_old_is_understood() -> None:
    assert Configuration.decode(GOLDEN.read_bytes()) == CONFIGURATION


def test_a_cluster_is_named_as_ever() -> None:
    name = cluster_id("a token", GOLDEN.read_bytes())

    assert name.hex() == "a594240b5f4e30bc3609e3e070a648fb"
