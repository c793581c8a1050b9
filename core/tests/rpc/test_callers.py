"""Who makes a call, as its method, and what it leads to, are told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from quorate.plugin import Caller
from quorate.plugin.access import Open
from quorate.rpc import callers
from quorate.rpc.identities import Identities
from quorate.shards.routing.forwarding import Asked


class Shown:
    """The context of a call whose caller shows a certificate with these names, or none."""

    def __init__(self, **names: list[bytes]) -> None:
        self.names = names

    def auth_context(self) -> dict[str, list[bytes]]:
        return self.names

    def invocation_metadata(self) -> tuple[()]:
        return ()


@pytest.mark.parametrize(
    ("names", "name"),
    [
        ({"x509_common_name": [b"alice"], "x509_subject_alternative_name": [b"a.b"]}, "alice"),
        ({"x509_subject_alternative_name": [b"a.b", b"c.d"]}, "a.b"),
        ({"transport_security_type": [b"ssl"]}, ""),
    ],
)
def test_the_owner_of_a_certificate_is_its_common_name(
    names: dict[str, list[bytes]], name: str
) -> None:
    context: Any = Shown(**names)

    assert callers.certified(context) == Caller(name=name)


async def test_a_call_and_what_it_starts_know_their_caller_and_others_are_the_node() -> None:
    async def serve(request: Any, context: Any) -> tuple[Caller, Caller]:
        async def later() -> Caller:
            return callers.caller()

        return callers.caller(), await asyncio.create_task(later())

    served: Any = Identities(Open(), _certificates=True).around("/a.B/C", serve)
    alice: Any = Shown(x509_common_name=[b"alice"])

    assert await asyncio.create_task(served(b"", alice)) == (Caller(name="alice"),) * 2
    assert callers.caller() == Caller(node=True)


async def test_without_certificates_and_users_nobody_calls() -> None:
    async def serve(request: Any, context: Any) -> Caller:
        return callers.caller()

    served: Any = Identities(Open()).around("/a.B/C", serve)

    assert await asyncio.create_task(served(b"", None)) == Caller()


def test_a_node_acts_for_a_user_in_a_block_alone() -> None:
    with callers.acting("alice", "192.0.2.1:7"):
        assert callers.caller() == Caller(name="alice", node=True, address="192.0.2.1:7")

    assert callers.caller() == Caller(node=True)


async def test_what_one_call_asked_is_not_what_the_next_of_its_task_asks() -> None:
    callers.begin(Caller(name="alice"))
    callers.ask(Asked("alice", "/a.B/C", None))
    callers.begin(Caller(node=True))

    assert callers.asked() is None
