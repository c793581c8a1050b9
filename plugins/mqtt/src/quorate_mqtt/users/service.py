"""The methods of the service of users that hash passwords and compare them.

Only hashes are proposed and stored, never a password.
"""

from asyncio import gather
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

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

_New = type[pb.CreateUsers] | type[pb.PutUsers]


class UserServicer:
    """Creates, changes and authenticates users; the other methods are derived."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._passwords: Final = Passwords()
        self._logins: Final = Logins(self._passwords)

    async def Create(self, request: pb.CreateUserRequest, context: object) -> pb.User:
        """Create one user."""
        return await self._write_one(pb.CreateUsers, request)

    async def CreateBatch(self, request: pb.CreateUsersRequest, context: object) -> BatchReply:
        """Create many users in one proposal a shard."""
        return await self._write_each(pb.CreateUsers, request)

    async def Put(self, request: pb.CreateUserRequest, context: object) -> pb.User:
        """Create or replace one user."""
        return await self._write_one(pb.PutUsers, request)

    async def PutBatch(self, request: pb.CreateUsersRequest, context: object) -> BatchReply:
        """Create or replace many users in one proposal a shard."""
        return await self._write_each(pb.PutUsers, request)

    async def Update(self, request: pb.UpdateUserRequest, context: object) -> pb.User:
        """Change the given fields of one user."""
        check_change(request)
        return pb.User.FromString(only_reply(await self._change([request])))

    async def UpdateBatch(self, request: pb.UpdateUsersRequest, context: object) -> BatchReply:
        """Change many users in one proposal a shard."""
        _check_count(len(request.users))
        return await split_invalid("users", request.users, check_change).execute(self._change)

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

    async def _write_one(self, kind: _New, request: pb.CreateUserRequest) -> pb.User:
        check_creation(request)
        return pb.User.FromString(only_reply(await self._write(kind, [request])))

    async def _write_each(self, kind: _New, request: pb.CreateUsersRequest) -> BatchReply:
        _check_count(len(request.users))
        checked = split_invalid("users", request.users, check_creation)
        return await checked.execute(partial(self._write, kind))

    async def _write(self, kind: _New, requests: Iterable[pb.CreateUserRequest]) -> BatchReply:
        users = await gather(*map(self._new, requests))
        return await self._node.propose(kind(users=users), BatchReply)

    async def _change(self, requests: Iterable[pb.UpdateUserRequest]) -> BatchReply:
        changes = await gather(*map(self._changed, requests))
        return await self._node.propose(pb.UpdateUsers(users=changes), BatchReply)

    async def _new(self, request: pb.CreateUserRequest) -> pb.NewUser:
        user = pb.User(
            tenant=request.tenant,
            name=request.name,
            description=request.description,
            superuser=request.superuser,
        )
        credential = await self._passwords.credential_of(request.password)
        return pb.NewUser(user=user, credential=credential)

    async def _changed(self, request: pb.UpdateUserRequest) -> pb.UserChange:
        change = pb.UserChange(tenant=request.tenant, name=request.name)
        if request.HasField("description"):
            change.description = request.description
        if request.HasField("superuser"):
            change.superuser = request.superuser
        if request.HasField("password"):
            credential = await self._passwords.credential_of(request.password)
            change.credential.CopyFrom(credential)
        return change


def _host(context: object) -> str:
    """Return the host of the caller; "" for a call from within the process."""
    peer = getattr(context, "peer", None)
    return "" if peer is None else str(peer()).rpartition(":")[0]


def _result(verdict: bool | Rejected) -> str:
    if isinstance(verdict, Rejected):
        return "refused"
    return "right" if verdict else "wrong"


def _check_count(count: int) -> None:
    if count > MOST_USERS:
        raise Invalid("users", f"must be at most {MOST_USERS}, not {count}: passwords are hashed")
