"""A mere identity opens sessions, loaders take each other's names, and views outlive rights."""

from __future__ import annotations

from contextlib import AsyncExitStack
from secrets import token_hex

from google.protobuf.message import Message
from quorate.builtin.auth.plugin import BINDING, USER
from quorate.client import AsyncClient, QuorateError, RejectedError, connect
from quorate.v1 import auth_pb2, view_pb2
from quorate.v1.kv_pb2 import PutPair

from tests.abuse.attack import Attack, Broken, Target

_VIEWS = "/quorate.v1.ViewService"
_BOUND = 20
_GROUP, _KEY = "metadata", b"abuse"


class _Users:
    """The administrator of a cluster that asks its callers, and clients of users."""

    def __init__(self, target: Target, exits: AsyncExitStack, admin: AsyncClient) -> None:
        self._target, self._exits, self._admin = target, exits, admin

    async def make(self, name: str, *roles: str) -> AsyncClient:
        await self._admin.records(USER).create(auth_pb2.User(name=name))
        for role in roles:
            await self._admin.records(BINDING).put(auth_pb2.Binding(user=name, role=role))
        issue = auth_pb2.IssueToken(user=name)
        token = await self._admin.call("/quorate.v1.TokenService/Issue", issue, auth_pb2.NewToken)
        opening = connect(self._target.endpoints, tls=self._target.tls, token=token.text)
        client = await self._exits.enter_async_context(opening)
        await _until_known(client)
        return client


async def _until_known(client: AsyncClient) -> None:
    """Wait until the node has heard of a user: rights are a cache, which lags a little."""
    while True:
        try:
            await client.kv.get("any")
        except RejectedError as error:
            if error.code == "UNAUTHENTICATED":
                continue
        return


async def _opened(client: AsyncClient, number: int) -> int:
    """Open sessions under new names until one is refused; return how many were opened."""
    for done in range(number):
        try:
            await client.sessions.open(_GROUP, _KEY, f"load/{token_hex(4)}")
        except QuorateError:
            return done
    return number


async def _loads(ada: AsyncClient, ben: AsyncClient) -> None:
    """Seal the name of a load that another user begins then."""
    name = f"load/{token_hex(4)}/1"
    await ben.sessions.seal(_GROUP, _KEY, name)
    try:
        session = await ada.sessions.open(_GROUP, _KEY, name)
        await session.execute(PutPair(key=b"abuse/1"), 1, lowest_unanswered=1)
    except RejectedError as error:
        raise Broken(f"the name of a load was taken by another user: {error}") from None


async def _read(client: AsyncClient, view: str) -> int:
    request: Message = view_pb2.ReadViewRequest(view=view)
    rows = client.stream(f"{_VIEWS}/Read", request, view_pb2.ReadViewResponse)
    return sum([len(page.rows) async for page in rows])


async def _views(admin: AsyncClient, ada: AsyncClient, eve: AsyncClient) -> None:
    """Read a view under somebody else's name for it, and after a right was taken away."""
    opening = view_pb2.OpenViewRequest(family="kv.pairs", shard=0)
    view = (await ada.call(f"{_VIEWS}/Open", opening, view_pb2.OpenViewResponse)).view
    if len(view) < 32:
        raise Broken(f"the name of a view has {4 * len(view)} bits")
    if not await _read(ada, view):
        raise Broken("the one who opened a view reads nothing")
    try:
        await _read(eve, view)
    except RejectedError:
        pass
    else:
        raise Broken("a view was read by a user who may read nothing")
    await admin.records(BINDING).delete("ada", "loader")
    for _ in range(1_000):
        try:
            await _read(ada, view)
        except RejectedError:
            return
    raise Broken("a view was read after the right to read was taken away")


async def run(target: Target) -> str:
    """Begin with three users: one without a role, and two loaders."""
    async with AsyncExitStack() as exits:
        client = await exits.enter_async_context(connect(target.endpoints, tls=target.tls))
        enable = auth_pb2.EnableAuth(administrator="client")
        await client.call("/quorate.v1.AuthService/Enable", enable, auth_pb2.NewToken)
        users = _Users(target, exits, client)
        eve = await users.make("eve")
        ada, ben = await users.make("ada", "loader"), await users.make("ben", "loader")
        if number := await _opened(eve, 50):
            raise Broken(f"a user without a role opened {number} sessions that stay")
        await _loads(ada, ben)
        if (number := await _opened(ben, 2 * _BOUND)) > _BOUND:
            raise Broken(f"a user opened {number} sessions in a shard, above the bound of {_BOUND}")
        await _views(client, ada, eve)
    return f"no session without a right, {number} at most, no name taken, no view of others read"


ATTACK = Attack(
    run=run,
    nodes=1,
    tls=True,
    settings={"limits": {"named_sessions": _BOUND}},
    own_cluster=True,
)
