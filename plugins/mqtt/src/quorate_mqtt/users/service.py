"""The gRPC service: passwords become hashes here, and nothing else of them is proposed or kept.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from asyncio import gather
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import GrpcService, Invalid, Metric, NodeApi, Rejected, keys, sift
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch, only_reply
from quorate_mqtt.definitions.service import Named
from quorate_mqtt.rows.reading import Range
from quorate_mqtt.users.families import CHANGE, CREATION, PUT, USERS
from quorate_mqtt.users.logins import Attempt, Logins
from quorate_mqtt.users.passwords import Passwords
from quorate_mqtt.users.queries import order
from quorate_mqtt.users.validation import (
    MOST_LOGINS,
    MOST_USERS,
    check_authentication,
    check_change,
    check_creation,
)
from quorate_mqtt.v1 import users_pb2
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest
from quorate_mqtt.v1.users_pb2 import (
    AuthenticateRequest,
    AuthenticateResponse,
    AuthenticateUsersRequest,
    CreateUserRequest,
    CreateUsersRequest,
    DeleteUsersCommand,
    FindLogins,
    ListUsersRequest,
    Login,
    NewUser,
    UpdateUserRequest,
    UpdateUsersRequest,
    User,
    UserChange,
    UserLookup,
    UserLookups,
    UserPage,
)

LOGINS: Final = Metric(
    name="quorate_mqtt_logins_total",
    kind="counter",
    help="Passwords that this node was asked about: right, wrong, or refused without an answer.",
    labels=("result",),
)


class UserServicer:
    """Serves users on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._named: Final = Named(node=node, kind=USERS)
        self._passwords: Final = Passwords()
        self._logins: Final = Logins(self._passwords)

    async def Create(self, request: CreateUserRequest, context: object) -> User:
        """Make one user."""
        check_creation(request)
        return only_reply(await self._write(CREATION, [request]), User)

    async def CreateBatch(self, request: CreateUsersRequest, context: object) -> BatchReply:
        """Make many users in one proposal a shard."""
        _check_count(len(request.users))
        return await sift("users", request.users, check_creation).carried_out(
            partial(self._write, CREATION)
        )

    async def Put(self, request: CreateUserRequest, context: object) -> User:
        """Make or replace one user."""
        check_creation(request)
        return only_reply(await self._write(PUT, [request]), User)

    async def PutBatch(self, request: CreateUsersRequest, context: object) -> BatchReply:
        """Make or replace many users in one proposal a shard."""
        _check_count(len(request.users))
        return await sift("users", request.users, check_creation).carried_out(
            partial(self._write, PUT)
        )

    async def Update(self, request: UpdateUserRequest, context: object) -> User:
        """Change what is given of one user."""
        check_change(request)
        return only_reply(await self._change([request]), User)

    async def UpdateBatch(self, request: UpdateUsersRequest, context: object) -> BatchReply:
        """Change many users in one proposal a shard."""
        _check_count(len(request.users))
        return await sift("users", request.users, check_change).carried_out(self._change)

    async def Delete(self, request: DefinitionName, context: object) -> Empty:
        """Delete one user."""
        return await self._named.delete(request)

    async def DeleteBatch(self, request: DeleteUsersCommand, context: object) -> BatchReply:
        """Delete many users in one proposal a shard."""
        return await self._named.delete_each(request)

    async def Get(self, request: DefinitionName, context: object) -> User:
        """Read one user."""
        return await self._named.get(request)

    async def GetBatch(self, request: GetDefinitionsRequest, context: object) -> UserLookups:
        """Read many users, in the order of the request."""
        found = await self._named.get_each(request)
        return UserLookups(lookups=[UserLookup(user=each) for each in found])

    async def List(self, request: ListUsersRequest, context: object) -> UserPage:
        """List a page of users."""
        page, token = await USERS.shelf.page(self._node, Range.of(request), _wanted(request))
        return UserPage(users=page, next_page_token=token)

    async def StreamList(
        self, request: ListUsersRequest, context: object
    ) -> AsyncIterator[UserPage]:
        """List page by page, to the end."""
        pages = USERS.shelf.pages(self._node, Range.of(request), _wanted(request))
        async for page, token in pages:
            yield UserPage(users=page, next_page_token=token)

    async def Authenticate(
        self, request: AuthenticateRequest, context: object
    ) -> AuthenticateResponse:
        """Tell whether that is the password of that user; it takes as long for nobody's."""
        check_authentication(request)
        return only_reply(await self._authenticate([request]), AuthenticateResponse)

    async def AuthenticateBatch(
        self, request: AuthenticateUsersRequest, context: object
    ) -> BatchReply:
        """Tell it of many users; one that is refused does not keep the others from it."""
        if len(request.logins) > MOST_LOGINS:
            raise Invalid("logins", f"must be at most {MOST_LOGINS}, not {len(request.logins)}")
        return await sift("logins", request.logins, check_authentication).carried_out(
            self._authenticate
        )

    async def _authenticate(self, requests: Sequence[AuthenticateRequest]) -> BatchReply:
        query = FindLogins(
            names=[DefinitionName(tenant=each.tenant, name=each.name) for each in requests]
        )
        found = {order(login): login async for login in self._node.query(query, Login)}
        users = [keys.pack(each.tenant, each.name) for each in requests]
        verdicts = await self._logins.are_right(
            [
                Attempt(user, request.password, found[user].credential if user in found else None)
                for user, request in zip(users, requests, strict=True)
            ]
        )
        reply = BatchReply(items=len(requests))
        for position, (user, verdict) in enumerate(zip(users, verdicts, strict=True)):
            answer = AuthenticateResponse()
            if isinstance(verdict, Rejected):
                reply.refusals.add(item=position, code=verdict.code, message=verdict.message)
            elif verdict:
                answer.authenticated, answer.superuser = True, found[user].user.superuser
            reply.replies.append(answer.SerializeToString())
        for result, count in Counter(map(_result, verdicts)).items():
            self._node.count(LOGINS.name, count, result=result)
        return reply

    async def _write(
        self, batch: Batch[NewUser], requests: Iterable[CreateUserRequest]
    ) -> BatchReply:
        command = batch.of(await gather(*map(self._new, requests)))
        return await self._node.propose(command, BatchReply)

    async def _change(self, requests: Iterable[UpdateUserRequest]) -> BatchReply:
        change = CHANGE.of(await gather(*map(self._changed, requests)))
        return await self._node.propose(change, BatchReply)

    async def _new(self, request: CreateUserRequest) -> NewUser:
        user = User(
            tenant=request.tenant,
            name=request.name,
            description=request.description,
            superuser=request.superuser,
        )
        return NewUser(user=user, credential=await self._passwords.credential_of(request.password))

    async def _changed(self, request: UpdateUserRequest) -> UserChange:
        change = UserChange(tenant=request.tenant, name=request.name)
        if request.HasField("description"):
            change.description = request.description
        if request.HasField("superuser"):
            change.superuser = request.superuser
        if request.HasField("password"):
            credential = await self._passwords.credential_of(request.password)
            change.credential.CopyFrom(credential)
        return change


def _result(verdict: bool | Rejected) -> str:
    if isinstance(verdict, Rejected):
        return "refused"
    return "right" if verdict else "wrong"


def _check_count(count: int) -> None:
    if count > MOST_USERS:
        raise Invalid("users", f"must be at most {MOST_USERS}, not {count}: passwords are hashed")


def _wanted(request: ListUsersRequest) -> Callable[[User], bool] | None:
    if not request.HasField("superuser"):
        return None
    return lambda user: user.superuser == request.superuser


SERVICE: Final = GrpcService(
    service=users_pb2.DESCRIPTOR.services_by_name["UserService"],
    servicer=UserServicer,
)
