from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer

PEERS = st.builds(Peer, st.text(min_size=1, max_size=20), st.integers(0, 2**64 - 1))
CONFIGURATIONS = (
    st.lists(st.builds(Member, PEERS, st.booleans()), min_size=1, unique_by=lambda m: m.peer.node)
    .filter(lambda members: any(member.voter for member in members))
    .map(Configuration.of)
)


def of(voters: str, learners: str = "", replica: int = 1) -> Configuration:
    members = [Member(Peer(node, replica)) for node in voters]
    return Configuration.of(members + [Member(Peer(node, replica), False) for node in learners])


@given(CONFIGURATIONS)
def test_a_configuration_reads_back_as_it_was_written(configuration: Configuration) -> None:
    assert Configuration.decode(configuration.encode()) == configuration


@given(CONFIGURATIONS, st.randoms())
def test_the_order_of_naming_makes_no_difference(
    configuration: Configuration, rng: st.DataObject
) -> None:
    shuffled = list(configuration.members)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert Configuration.of(shuffled) == configuration
    assert Configuration.of(shuffled).encode() == configuration.encode()


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_and_nothing_else_happens(payload: bytes) -> None:
    try:
        Configuration.decode(payload)
    except ValueError:
        return


@pytest.mark.parametrize("payload", [b"", b"\xff", b"\x80\x04K\x01."])
def test_what_is_no_configuration_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a configuration|no member votes"):
        Configuration.decode(payload)


def test_a_node_is_named_once() -> None:
    with pytest.raises(ValueError, match="named twice"):
        Configuration.of([Member(Peer("a", 1)), Member(Peer("a", 2))])


def test_somebody_votes() -> None:
    with pytest.raises(ValueError, match="no member votes"):
        Configuration.of([Member(Peer("a", 1), voter=False)])


@pytest.mark.parametrize(("voters", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half_of_the_voters(voters: int, majority: int) -> None:
    assert of("abcde"[:voters], "xyz").majority == majority


@pytest.mark.parametrize(
    ("before", "after", "single"),
    [
        (of("abc"), of("abcd"), True),
        (of("abc"), of("ab"), True),
        (of("abc", "d"), of("abcd"), True),
        (of("abc"), of("ab", "c"), True),
        (of("abc"), of("abc", "def"), True),
        (of("abc"), of("abd"), False),
        (of("abc"), of("abcde"), False),
        (of("abc"), of("abc", replica=2), False),
    ],
)
def test_at_most_one_voter_comes_or_goes(
    before: Configuration, after: Configuration, single: bool
) -> None:
    assert before.changes_one_voter(after) is single


def test_a_replica_is_found_by_its_node() -> None:
    configuration = of("ab", "c", replica=7)

    assert configuration.peer_of("c") == Peer("c", 7)
    assert configuration.peer_of("z") is None
    assert configuration.peers == (Peer("a", 7), Peer("b", 7), Peer("c", 7))
    assert configuration.voters == (Peer("a", 7), Peer("b", 7))
