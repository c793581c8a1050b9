"""What proves that two nodes share a token, and what does not."""

from __future__ import annotations

import pytest
from quorate.consensus.messages import Peer
from quorate.consensus.peer.proofs import TokenProofs, token_hash

A, B = Peer("a", 1), Peer("b", 2)


def proofs(token: str = "token", *, takes_hash: bool = False) -> TokenProofs:
    return TokenProofs(token, lambda: takes_hash)


def test_a_proof_is_good_for_what_it_was_made_for() -> None:
    a, b, other = proofs(), proofs(), proofs("another")
    challenge = b.of_connection("ipv4:192.0.2.1:7")
    shown = a.make("call", challenge, A, "b")

    assert b.proves(shown, "call", challenge, A, "b")
    assert not b.proves(shown, "call", b.of_connection("ipv4:192.0.2.1:8"), A, "b")
    assert not b.proves(shown, "introduction", challenge, A, "b")
    assert not b.proves(shown, "call", challenge, B, "b")
    assert not b.proves(shown, "call", challenge, Peer("a", 2), "b")
    assert not b.proves(shown, "call", challenge, A, "c")
    assert not other.proves(shown, "call", challenge, A, "b")
    assert not b.proves(b"", "call", challenge, A, "b")


def test_a_challenge_is_another_one_after_a_start() -> None:
    assert proofs().of_connection("x") != proofs().of_connection("x")


def test_a_challenge_that_was_given_is_spent_once() -> None:
    a, b = proofs(), proofs()
    challenge = b.give("a")
    shown = a.make("connection", challenge, A, "b")

    assert b.spend("c", "b", A, shown) is None
    assert b.spend("a", "b", A, shown) == challenge
    assert b.spend("a", "b", A, shown) is None


@pytest.mark.parametrize("takes_hash", [True, False])
def test_the_hash_of_the_token_is_a_proof_as_long_as_it_is_taken(takes_hash: bool) -> None:
    a = proofs(takes_hash=takes_hash)

    assert a.make("call", b"", A, "b") == (token_hash("token") if takes_hash else b"")
    assert a.proves(token_hash("token"), "call", b"challenge", A, "b") is takes_hash
    assert not a.proves(token_hash("another"), "call", b"challenge", A, "b")
