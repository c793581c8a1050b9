"""Who is let in: by what they show, by what they need, and for as long as it is taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from quorate.plugin import Access, Caller, Rejected
from quorate.plugin.access import OPERATIONS, Open, Rights, is_reserved
from quorate.plugin.advanced import Grant
from quorate.plugin.needs import Need
from quorate.plugin.node import NODE
from quorate.plugin.services import method_of
from quorate.rpc import callers
from quorate.rpc.identities import Guard, Identities
from quorate.rpc.methods import Context
from quorate.shards.refusals import NotServingError
from quorate.shards.routing.forwarding import Asked
from quorate.v1 import kv_pb2
from quorate.v1.kv_pb2 import DeletePair

ROOT = "r" * 32


class Asking(Open):
    """Knows ada by her token, who writes below `a/`."""

    def __init__(self) -> None:
        self.enabled: bool | None = True
        self.revoked = False

    def owner_of(self, token: str) -> str:
        if token != "of-ada" or self.revoked:
            raise Rejected("UNAUTHENTICATED", "it is not taken")
        return "ada"

    def rights(self, name: str) -> Rights:
        granted = Grant(right="write", domain="kv", prefix="a/")
        return Rights(name, (granted,) if name == "ada" else ())


class Call:
    """The context of a call with a header and names in a certificate."""

    def __init__(self, header: str | bytes = "", **names: list[bytes]) -> None:
        self.metadata = (("authorization", header),) if header else ()
        self.names = names
        self.ended = ""

    def invocation_metadata(self) -> Any:
        return self.metadata

    def auth_context(self) -> Any:
        return self.names

    def cancelled(self) -> bool:
        return False

    done = cancelled

    async def abort(self, code: Any, text: str, metadata: Any) -> None:
        self.ended = code.name


async def made_by(identities: Identities, call: Call) -> Caller | str:
    """Return who makes a call, or what it ends with."""

    async def serve(request: Any, context: Context) -> Caller:
        return callers.caller()

    served: Any = identities.around("/a.B/C", serve)
    return await asyncio.create_task(served(b"", call)) or call.ended


ADA = Caller(name="ada")
CERTIFIED: Any = {"x509_common_name": [b"eve"]}


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (Call("Bearer of-ada"), ADA),
        (Call("bearer  of-ada "), ADA),
        (Call(b"Bearer of-ada"), ADA),
        (Call("Bearer of-ada", **CERTIFIED), ADA),
        (Call(**CERTIFIED), Caller(name="eve")),
        (Call(f"Bearer {ROOT}"), Caller(name="root", node=True)),
        (Call("Bearer a.b.c"), Caller(name="jwt")),
        (Call(), Caller()),
        (Call("Bearer of-eve"), "UNAUTHENTICATED"),
        (Call("Bearer of-eve", **CERTIFIED), "UNAUTHENTICATED"),
        (Call("Basic of-ada"), "UNAUTHENTICATED"),
        (Call("Bearer"), "UNAUTHENTICATED"),
        (Call("Bearer "), "UNAUTHENTICATED"),
        (Call(b"\xff"), "UNAUTHENTICATED"),
    ],
)
async def test_a_caller_is_who_its_token_or_else_its_certificate_says(
    call: Call, found: Caller | str
) -> None:
    identities = Identities(Asking(), lambda: ROOT, lambda _: "jwt", _certificates=True)

    assert await made_by(identities, call) == found


async def test_without_a_root_token_nobody_is_root() -> None:
    for header in ("Bearer ", f"Bearer {ROOT}"):
        assert await made_by(Identities(Asking()), Call(header)) == "UNAUTHENTICATED"


async def test_a_node_is_told_before_its_certificate() -> None:
    identities = Identities(Asking(), _certificates=True, _node_of=lambda _: "q1")

    assert await made_by(identities, Call(**CERTIFIED)) == Caller(name="node:q1", node=True)


@pytest.mark.parametrize("name", ["root", "ROOT", " Root", "node:q1", "Node:x", "digest:ann", "q1"])
@pytest.mark.parametrize("enabled", [True, False, None])
async def test_no_certificate_and_no_jwt_proves_a_reserved_name(
    name: str, enabled: bool | None
) -> None:
    authority = Asking()
    authority.enabled = enabled
    identities = Identities(
        authority,
        _jwt=lambda _: name,
        _certificates=True,
        _is_reserved=lambda name: name == "q1" or is_reserved(name),
    )

    for shown in ("x509_common_name", "x509_subject_alternative_name"):
        names: Any = {shown: [name.encode()]}
        assert await made_by(identities, Call(**names)) == "UNAUTHENTICATED"
    if enabled:
        assert await made_by(identities, Call("Bearer a.b.c")) == "UNAUTHENTICATED"


async def test_a_call_ends_with_its_token() -> None:
    authority, begun, call = Asking(), asyncio.Event(), Call("Bearer of-ada")
    identities = Identities(authority)

    async def serve(request: Any, context: Context) -> None:
        begun.set()
        await asyncio.Event().wait()

    served: Any = identities.around("/a.B/C", serve)
    task = asyncio.create_task(served(b"", call))
    await begun.wait()
    identities.look()
    await asyncio.sleep(0)
    assert not task.done()
    authority.revoked = True
    identities.look()
    await task

    assert call.ended == "UNAUTHENTICATED"


def demand(authority: Asking, access: Access, domain: str, caller: Caller) -> str:
    """Return what a request is refused with; "": it is not."""
    callers.begin(caller)
    try:
        Guard(authority).of(METHOD, Need(access, domain))(DeletePair(key=b"a/1"))
    except Rejected as refusal:
        return refusal.code
    except NotServingError:
        return "NOT_SERVING"
    return ""


METHOD = method_of(kv_pb2.DESCRIPTOR.services_by_name["KvService"].methods_by_name["Delete"])
WRITE = Access(right="write", key="key")
STATUS = Access(right="read")


@pytest.mark.parametrize(
    ("enabled", "access", "domain", "caller", "refused"),
    [
        (True, WRITE, "kv", ADA, ""),
        (True, WRITE, "mqtt", ADA, "PERMISSION_DENIED"),
        (True, WRITE, "kv", Caller(name="eve"), "PERMISSION_DENIED"),
        (True, WRITE, "kv", Caller(), "UNAUTHENTICATED"),
        (True, WRITE, "kv", NODE, ""),
        (True, Access(right="identity"), "kv", Caller(name="eve"), ""),
        (True, Access(right="identity"), "kv", Caller(), "UNAUTHENTICATED"),
        (False, WRITE, "kv", Caller(), ""),
        # While it is not known who may call, a node tells of itself alone.
        (None, WRITE, "kv", ADA, "NOT_SERVING"),
        (None, Access(right="identity"), "kv", ADA, "NOT_SERVING"),
        (None, STATUS, OPERATIONS, Caller(), ""),
        (None, WRITE, OPERATIONS, Caller(), "NOT_SERVING"),
        (None, WRITE, "kv", NODE, ""),
    ],
)
async def test_a_method_is_open_to_who_has_what_it_needs(
    enabled: bool | None, access: Access, domain: str, caller: Caller, refused: str
) -> None:
    authority = Asking()
    authority.enabled = enabled

    assert demand(authority, access, domain, caller) == refused


@pytest.mark.parametrize(
    ("caller", "by_command", "known"),
    [
        (ADA, False, Asked("ada", METHOD.path, DeletePair(key=b"a/1"))),
        # The command is asked for by itself.
        (ADA, True, Asked("ada", METHOD.path, None)),
        (NODE, False, None),
    ],
)
async def test_what_was_granted_is_known_to_what_reads_for_it(
    caller: Caller, by_command: bool, known: Asked | None
) -> None:
    async def asked() -> Asked | None:
        callers.begin(caller)
        need = Need(WRITE, "kv", by_command)
        Guard(Asking()).of(METHOD, need)(DeletePair(key=b"a/1"))
        return callers.asked()

    assert await asyncio.create_task(asked()) == known
