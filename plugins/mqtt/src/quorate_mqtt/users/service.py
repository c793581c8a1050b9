"""The methods of the service of users that hash passwords and compare them.

Only hashes are proposed and stored, never a password.
"""

from __future__ import annotations

from asyncio import gather
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from quorate.plugin import Invalid, Metric, NodeApi, Rejected, keys
from quorate.plugin.advanced import split_invalid
from quorate.plugin.checking import check_count
from quorate.plugin.singles import only_reply
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.users.logins import Attempt, Logins
from quorate_mqtt.users.passwords import Passwords
from quorate_mqtt.users.validation import (
    MOST_LOGINS,
    MOST_USERS,
    check_authentication,
    check_change,
    check_creation,
)
from quorate_mqtt.v1 import users_pb2 as pb
from quorate_mqtt.v1.definitions_pb2 import DefinitionName

LOGINS: Final = Metric(
    name="quorate_mqtt_logins_total",
    kind="counter",
    help="Passwords that this node was asked to verify: right, wrong, or refused unverified.",
    labels=("result",),
)


async def _new(passwords: Passwords, request: pb.CreateUserRequest) -> pb.NewUser:
    user = pb.User(
        tenant=request.tenant,
        name=request.name,
        description=request.description,
        superuser=request.superuser,
    )
    return pb.NewUser(user=user, credential=await passwords.credential_of(request.password))


async def _changed(passwords: Passwords, request: pb.UpdateUserRequest) -> pb.UserChange:
    change = pb.UserChange(tenant=request.tenant, name=request.name)
    if request.HasField("description"):
        change.description = request.description
    if request.HasField("superuser"):
        change.superuser = request.superuser
    if request.HasField("password"):
        change.credential.CopyFrom(await passwords.credential_of(request.password))
    return change


def _one(kind: Any, check: Callable[[Any], None], settle: Callable[..., Any]) -> Any:
    """Return the method that writes one user."""

    async def write(self: UserServicer, request: Any, _: object) -> pb.User:
        check(request)
        return pb.User.FromString(only_reply(await self.propose(kind, settle, [request])))

    return write


def _each(kind: Any, check: Callable[[Any, str], None], settle: Callable[..., Any]) -> Any:
    """Return the method that writes many users, in one proposal a shard."""

    async def write(self: UserServicer, request: Any, _: object) -> BatchReply:
        count = len(request.users)
        if count > MOST_USERS:
            reason = f"must be at most {MOST_USERS}, not {count}: passwords are hashed"
            raise Invalid("users", reason)
        checked = split_invalid("users", request.users, check)
        return await checked.execute(partial(self.propose, kind, settle))

    return write


class UserServicer:
    """Creates, changes and authenticates users; the other methods are derived."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._passwords: Final = Passwords()
        self._logins: Final = Logins(self._passwords)

    Create = _one(pb.CreateUsers, check_creation, _new)
    CreateBatch = _each(pb.CreateUsers, check_creation, _new)
    Put = _one(pb.PutUsers, check_creation, _new)
    PutBatch = _each(pb.PutUsers, check_creation, _new)
    Update = _one(pb.UpdateUsers, check_change, _changed)
    UpdateBatch = _each(pb.UpdateUsers, check_change, _changed)

    async def Authenticate(
        self, request: pb.AuthenticateRequest, context: object
    ) -> pb.AuthenticateResponse:
        """Return whether a password is that of a user; an unknown user takes the same time."""
        check_authentication(request)
        reply = only_reply(await self._authenticate(_host(context), [request]))
        return pb.AuthenticateResponse.FromString(reply)

    async def AuthenticateBatch(
        self, request: pb.AuthenticateUsersRequest, context: object
    ) -> BatchReply:
        """Check the passwords of many users; a refused one does not affect the others."""
        check_count("logins", request.logins, MOST_LOGINS)
        return await split_invalid("logins", request.logins, check_authentication).execute(
            partial(self._authenticate, _host(context))
        )

    async def _authenticate(
        self, host: str, requests: Sequence[pb.AuthenticateRequest]
    ) -> BatchReply:
        query = pb.FindLogins(
            names=[DefinitionName(tenant=each.tenant, name=each.name) for each in requests]
        )
        found = {
            keys.pack(login.user.tenant, login.user.name): login
            async for login in self._node.query(query, pb.Login)
        }
        users = [keys.pack(each.tenant, each.name) for each in requests]
        verdicts = await self._logins.are_right(
            [
                Attempt(
                    user,
                    request.password,
                    found[user].credential if user in found else None,
                    f"{host} {request.address}",
                )
                for user, request in zip(users, requests, strict=True)
            ]
        )
        reply = BatchReply(items=len(requests))
        for position, (user, verdict) in enumerate(zip(users, verdicts, strict=True)):
            answer = pb.AuthenticateResponse()
            if isinstance(verdict, Rejected):
                reply.refusals.add(item=position, code=verdict.code, message=verdict.message)
            elif verdict:
                answer.authenticated, answer.superuser = True, found[user].user.superuser
            reply.replies.append(answer.SerializeToString())
        for result, count in Counter(map(_result, verdicts)).items():
            self._node.count(LOGINS.name, count, result=result)
        return reply

    async def propose(
        self, kind: Any, settle: Callable[..., Any], requests: Iterable[Any]
    ) -> BatchReply:
        """Propose a command with the items that `settle` makes of requests."""
        items = await gather(*(settle(self._passwords, each) for each in requests))
        return await self._node.propose(kind(users=items), BatchReply)


def _host(context: object) -> str:
    """Return the host of the caller; "" for a call from within the process."""
    peer = getattr(context, "peer", None)
    return "" if peer is None else str(peer()).rpartition(":")[0]


def _result(verdict: bool | Rejected) -> str:
    if isinstance(verdict, Rejected):
        return "refused"
    return "right" if verdict else "wrong"
