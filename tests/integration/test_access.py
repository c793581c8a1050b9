"""Every public method, called by everybody: allowed or not exactly as the reference says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc
import pytest
import pytest_asyncio
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from quorate.node.access import needs
from quorate.plugin import Command
from quorate.plugin.access import GUARDED, RIGHTS
from quorate.v1 import auth_pb2, command_pb2, kv_pb2, tenant_pb2, view_pb2, watch_pb2

from tests.support.pages import page

if TYPE_CHECKING:
    from tests.integration.conftest import Answer, Served

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.ci]

#: What nodes ask each other, and what anybody may ask.
UNASKED: Final = frozenset(
    {
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "quorate.v1.FilePeerService",
        "quorate.v1.NodeService",
        "quorate.v1.PeerService",
        "quorate.v1.SnapshotService",
    }
)
#: By the caller: the right that it has on a domain, and `*` on any other that is not guarded.
CALLERS: Final[Mapping[str, Mapping[str, str]]] = {
    "nobody": {},
    "stranger": {},
    "wrong tenant": {},
    "reader": {"*": "read", "operations": "read"},
    "writer": {"*": "write"},
    "operator": {"*": "read", "operations": "write", "tenant": "write", "resource": "write"},
    "admin": {"*": "admin", "auth": "admin", "operations": "admin"},
}
DENIED: Final = grpc.StatusCode.PERMISSION_DENIED
UNKNOWN: Final = grpc.StatusCode.UNAUTHENTICATED
#: How long a call may take whose answer does not matter.
SHORT_S: Final = 3.0
#: How long one may take whose answer does.
CALL_S: Final = 20.0


class Row(NamedTuple):
    """A line of the reference."""

    right: str
    domain: str
    tenant: str
    key: str
    how: str


def reference() -> dict[str, Row]:
    """Return the lines of the reference by the paths of their methods."""
    found, service = {}, ""
    for line in page("reference/auth").splitlines():
        if heading := re.fullmatch(r"## ([\w.]+Service)", line):
            service = heading[1]
        elif service and (cells := re.fullmatch(r"\| `(\w+)` \|(.*)\|", line)):
            said = [each.strip().strip("`") for each in cells[2].split("|")]
            found[f"/{service}/{cells[1]}"] = Row(*said)
    return found


def has(caller: str, domain: str, right: str) -> bool:
    """Whether a caller has a right in all of a domain."""
    granted = CALLERS[caller]
    plugin = domain.partition(".")[0]
    if plugin in GUARDED:
        level = granted.get(plugin, "identity")
    else:
        level = granted.get(plugin) or granted.get("*", "identity")
    return RIGHTS.index(level) >= RIGHTS.index(right)


def expected(row: Row, caller: str) -> grpc.StatusCode | None:
    """Return how a call ends; None: it is let in."""
    if caller == "nobody":
        return UNKNOWN
    if row.right == "identity" or has(caller, row.domain, row.right):
        return None
    if caller == "wrong tenant" and row.how == "filtered" and not row.tenant:
        # It sees its own rows, of which there are none.
        return None if row.domain.partition(".")[0] not in GUARDED else DENIED
    return DENIED


def filled(kind: Any, depth: int = 3) -> Any:
    """Return a message about something of the tenant acme in every field."""
    message = kind()
    for field in kind.DESCRIPTOR.fields:
        value = _value(field, depth)
        if value is None or ((oneof := field.containing_oneof) and message.WhichOneof(oneof.name)):
            continue
        if field.is_repeated:
            if field.message_type is None or not field.message_type.GetOptions().map_entry:
                getattr(message, field.name).append(value)
        elif isinstance(value, Message):
            getattr(message, field.name).CopyFrom(value)
        else:
            setattr(message, field.name, value)
    return message


def _value(field: Any, depth: int) -> Any:
    if field.message_type is not None:
        if depth and not field.message_type.GetOptions().map_entry:
            return filled(GetMessageClass(field.message_type), depth - 1)
        return None
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        text = "acme" if field.name == "tenant" else "x"
        return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
    return 0 if field.cpp_type != FieldDescriptor.CPPTYPE_BOOL else False


class Site:
    """A node that asks its callers, and the tokens of all of them."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.tokens: dict[str, str] = {"nobody": ""}
        #: By their paths, as they were reflected while nobody was asked.
        self.methods: dict[str, MethodDescriptor] = {}

    async def found(self) -> None:
        """Enable, and make the callers."""
        self.methods = await self.served.methods()
        request = auth_pb2.EnableAuth(administrator="admin")
        self.tokens["admin"] = (await self.new("Auth/Enable", request)).text
        grant = auth_pb2.RoleGrant(right=auth_pb2.GRANTED_RIGHT_WRITE, domain="*")
        role = auth_pb2.Role(name="writer", grants=[grant])
        await self.ask("Role/CreateBatch", auth_pb2.CreateRoles(roles=[role]))
        for caller, role_name, tenants in (
            ("stranger", "", ()),
            ("wrong tenant", "writer", ("bolt",)),
            ("reader", "reader", ()),
            ("writer", "writer", ()),
            ("operator", "operator", ()),
        ):
            name = caller.replace(" ", "-")
            await self.ask(
                "User/CreateBatch", auth_pb2.CreateUsers(users=[auth_pb2.User(name=name)])
            )
            if role_name:
                bound = auth_pb2.Binding(user=name, role=role_name, tenants=tenants)
                await self.ask("Binding/PutBatch", auth_pb2.PutBindings(bindings=[bound]))
            request_ = auth_pb2.IssueToken(user=name)
            self.tokens[caller] = (await self.new("Token/Issue", request_)).text
        await self.granted("operator", lambda grants: bool(grants))

    async def new(self, method: str, request: Message) -> auth_pb2.NewToken:
        return auth_pb2.NewToken.FromString(await self.ask(method, request))

    async def ask(self, method: str, request: Message) -> bytes:
        service, _, name = method.partition("/")
        path = f"/quorate.v1.{service}Service/{name}"
        answer = await self.served.call(
            path, request.SerializeToString(), token=self.tokens.get("admin", "")
        )
        assert answer.code is grpc.StatusCode.OK, answer.details
        return answer.messages[0]

    async def granted(
        self, caller: str, expected: Callable[[Sequence[auth_pb2.RoleGrant]], bool]
    ) -> None:
        """Wait until the node knows a caller with such grants."""
        path, status = "/quorate.v1.AuthService/Status", auth_pb2.AuthStatus()
        async with asyncio.timeout(CALL_S):
            while not expected(status.grants):
                answer = await self.call(caller, path, auth_pb2.AuthStatusRequest())
                status = auth_pb2.AuthStatus.FromString(b"".join(answer.messages))

    async def call(
        self, caller: str, path: str, *requests: Message, timeout_s: float = CALL_S
    ) -> Answer:
        """Call as one of them, and take the first answer."""
        return await self.served.refused_or_not(
            path,
            *(each.SerializeToString() for each in requests),
            token=self.tokens[caller],
            most=1,
            timeout_s=timeout_s,
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(
    start: Callable[..., AbstractAsyncContextManager[Served]],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Site]:
    async with start(tmp_path_factory.mktemp("access")) as served:
        site = Site(served)
        await site.found()
        yield site


async def test_the_reference_has_every_method(site: Site) -> None:
    served = {path for path in site.methods if path.split("/")[1] not in UNASKED}

    assert set(reference()) == served == set(needs(site.served.catalog))


@pytest.mark.parametrize("caller", CALLERS)
async def test_every_method_is_open_to_whom_the_reference_says(site: Site, caller: str) -> None:
    methods = site.methods
    wrong: dict[str, str] = {}
    few = asyncio.Semaphore(16)

    async def ask(path: str, row: Row) -> None:
        wanted = expected(row, caller)
        if path == "/quorate.v1.AuthService/Disable" and wanted is None:
            return
        async with few:
            request = filled(GetMessageClass(methods[path].input_type))
            timeout_s = SHORT_S if wanted is None else CALL_S
            answer = await site.call(caller, path, request, timeout_s=timeout_s)
        found = answer.code if answer.code in (DENIED, UNKNOWN) else None
        if found is not wanted:
            wrong[path] = f"{found} and not {wanted}: {answer.code} {answer.details}"

    await asyncio.gather(*(ask(path, row) for path, row in reference().items()))

    assert wrong == {}


async def test_nodes_methods_take_no_user(site: Site) -> None:
    for path in site.methods:
        if path.startswith(("/quorate.v1.NodeService/", "/quorate.v1.FilePeerService/")):
            answer = await site.call("admin", path, command_pb2.ExecuteRequest())
            assert answer.code is grpc.StatusCode.INVALID_ARGUMENT, path


def _expected_of_command(command: Command[Any], domain: str, caller: str) -> str:
    right = "admin" if command.access is None else command.access.right
    return "" if has(caller, domain, right) else "PERMISSION_DENIED"


@pytest.mark.parametrize("caller", [each for each in CALLERS if each != "nobody"])
async def test_lanes_ask_for_each_command_what_its_method_asks(site: Site, caller: str) -> None:
    catalog = site.served.catalog
    wrong: dict[str, str] = {}
    for plugin, declared in catalog.declared.items():
        for command in declared.commands:
            if not command.public:
                continue
            name = command.message.DESCRIPTOR.full_name
            domain = (command.access.domain if command.access else "") or plugin
            message = filled(command.message)
            sent = command_pb2.Command(type=name, payload=message.SerializeToString())
            answer = await site.call(
                caller,
                "/quorate.v1.CommandService/Execute",
                command_pb2.ExecuteRequest(commands=[sent]),
            )
            [found] = command_pb2.ExecuteResponse.FromString(answer.messages[0]).answers
            denied = found.status.code == DENIED.value[0]
            if denied != bool(_expected_of_command(command, domain, caller)):
                wrong[name] = found.status.message

    assert wrong == {}


@pytest.mark.parametrize("caller", CALLERS)
async def test_views_and_watches_are_for_readers(site: Site, caller: str) -> None:
    wrong: dict[str, str] = {}
    for name, family in site.served.catalog.families.items():
        if family.row is None:
            continue
        view = view_pb2.OpenViewRequest(family=name, shard=0, ttl_ms=1)
        watch = watch_pb2.WatchRequest(families=[watch_pb2.WatchedFamily(name=name)])
        may = None if has(caller, name, "read") else DENIED
        # Who may read some rows watches those.
        some = None if caller == "wrong tenant" and name.split(".")[0] not in GUARDED else may
        for path, request, wanted in (
            ("ViewService/Open", view, may),
            ("WatchService/Watch", watch, some),
        ):
            timeout_s = SHORT_S if wanted is None else CALL_S
            answer = await site.call(caller, f"/quorate.v1.{path}", request, timeout_s=timeout_s)
            found = answer.code if answer.code in (DENIED, UNKNOWN) else None
            if found is not (UNKNOWN if caller == "nobody" else wanted):
                wrong[f"{path} of {name}"] = f"{answer.code} {answer.details}"

    assert wrong == {}


async def _narrow(site: Site, user: str) -> None:
    """Make a user who reads pairs below its name, and tenants whose names begin with `ac`."""
    grants = [
        auth_pb2.RoleGrant(right=auth_pb2.GRANTED_RIGHT_READ, domain=domain, prefix=prefix)
        for domain, prefix in (("kv", f"{user}/"), ("tenant", "ac"))
    ]
    await site.ask("Role/Create", auth_pb2.Role(name=user, grants=grants))
    await site.ask("User/Create", auth_pb2.User(name=user))
    await site.ask("Binding/Put", auth_pb2.Binding(user=user, role=user))
    made = await site.new("Token/Issue", auth_pb2.IssueToken(user=user))
    site.tokens[user] = made.text
    await site.granted(user, lambda grants: len(grants) == 2)


async def _put(site: Site, *keys: bytes) -> None:
    for key in keys:
        await site.ask("Kv/Put", kv_pb2.PutPair(key=key, value=b"v"))


async def test_lists_have_what_their_callers_may_read_and_no_word_of_the_rest(site: Site) -> None:
    await _narrow(site, "a")
    for name in ("aa", "acme", "ad", "acre"):
        await site.ask("Tenant/Create", tenant_pb2.CreateTenant(name=name))
    await _put(site, b"a/1", b"a/2", b"b/1", b"c/1")
    tenants, pairs = [], []
    request: Any = tenant_pb2.ListTenants(page_size=1)
    while True:
        answer = await site.call("a", "/quorate.v1.TenantService/List", request)
        assert b"aa" not in answer.messages[0]
        assert b"ad" not in answer.messages[0]
        page = tenant_pb2.TenantPage.FromString(answer.messages[0])
        tenants += [each.name for each in page.tenants]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    request = kv_pb2.ListPairsRequest(page_size=1)
    while True:
        answer = await site.call("a", "/quorate.v1.KvService/List", request)
        listed = kv_pb2.ListPairsResponse.FromString(answer.messages[0])
        pairs += [each.key for each in listed.pairs]
        assert b"/" not in listed.next_page_token.replace(b"a/", b"")
        if not listed.next_page_token:
            break
        request.page_token = listed.next_page_token

    assert tenants == ["acme", "acre"]
    assert pairs == [b"a/1", b"a/2"]
    get = await site.call("a", "/quorate.v1.KvService/Get", kv_pb2.GetPairRequest(key=b"b/1"))
    assert get.code is DENIED
    found = await site.call("a", "/quorate.v1.KvService/Get", kv_pb2.GetPairRequest(key=b"a/1"))
    assert found.code is grpc.StatusCode.OK


async def test_watches_show_what_their_callers_may_read_at_the_time(site: Site) -> None:
    await _narrow(site, "w")
    await _put(site, b"w/1", b"w/2", b"x/1")
    request = watch_pb2.WatchRequest(families=[watch_pb2.WatchedFamily(name="kv.pairs")])
    call: Any = site.served.channel.stream_stream("/quorate.v1.WatchService/Watch", None, None)(
        iter([request.SerializeToString()]),
        metadata=(("authorization", f"Bearer {site.tokens['w']}"),),
    )
    seen: list[bytes] = []

    async def until(key: bytes) -> None:
        async for message in call:
            response = watch_pb2.WatchResponse.FromString(message)
            assert response.events or response.token
            seen.extend(each.key for each in response.events)
            if key in seen:
                return

    async with asyncio.timeout(20):
        await until(b"w/2")
        await _put(site, b"x/3", b"w/3", b"y/3", b"w/4")
        await until(b"w/4")
        assert set(seen) == {b"w/1", b"w/2", b"w/3", b"w/4"}

        role = auth_pb2.Role(name="w")
        role.grants.add(right=auth_pb2.GRANTED_RIGHT_READ, domain="kv", prefix="y/")
        await site.ask("Role/Put", role)
        await site.granted("w", lambda grants: [each.prefix for each in grants] == ["y/"])
        await _put(site, b"w/5", b"y/4")
        await until(b"y/4")
    call.cancel()
    assert b"w/5" not in seen
