"""The gRPC service: passwords become hashes here, and nothing else of them is proposed or kept.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from asyncio import gather
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import GrpcService, Invalid, NodeApi, keys, sift
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import only_reply
from quorate_mqtt.definitions.service import Named
from quorate_mqtt.rows.reading import Range, Shelf, value_as
from quorate_mqtt.shards import tenant_shard_of
from quorate_mqtt.users.families import CHANGE, CREATION, CREDENTIALS, USERS
from quorate_mqtt.users.passwords import Passwords
from quorate_mqtt.users.validation import (
    MOST_USERS,
    check_authentication,
    check_change,
    check_creation,
)
from quorate_mqtt.v1 import users_pb2_grpc
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest
from quorate_mqtt.v1.users_pb2 import (
    AuthenticateRequest,
    AuthenticateResponse,
    CreateUserRequest,
    CreateUsersRequest,
    Credential,
    DeleteUsersCommand,
    ListUsersRequest,
    NewUser,
    UpdateUserRequest,
    UpdateUsersRequest,
    User,
    UserChange,
    UserLookup,
    UserLookups,
    UserPage,
)

_CREDENTIALS: Final = Shelf(family=CREDENTIALS, shard_of=tenant_shard_of, show=value_as(Credential))


class UserServicer(users_pb2_grpc.UserServiceServicer):
    """Serves users on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._named: Final = Named(node=node, kind=USERS)
        self._passwords: Final = Passwords()

    async def Create(self, request: CreateUserRequest, context: object) -> User:
        """Make one user."""
        check_creation(request)
        return only_reply(await self._create([request]), User)

    async def CreateBatch(self, request: CreateUsersRequest, context: object) -> BatchReply:
        """Make many users in one proposal a shard."""
        _check_count(len(request.users))
        return await sift("users", request.users, check_creation).carried_out(self._create)

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
        key = keys.pack(request.tenant, request.name)
        user = await USERS.shelf.get(self._node, key)
        credential = await _CREDENTIALS.get(self._node, key)
        right = await self._passwords.is_that_of(request.password, credential)
        if user is None or not right:
            return AuthenticateResponse()
        return AuthenticateResponse(authenticated=True, superuser=user.superuser)

    async def _create(self, requests: Iterable[CreateUserRequest]) -> BatchReply:
        creation = CREATION.of(await gather(*map(self._new, requests)))
        return await self._node.propose(creation, BatchReply)

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


def _check_count(count: int) -> None:
    if count > MOST_USERS:
        raise Invalid("users", f"must be at most {MOST_USERS}, not {count}: passwords are hashed")


def _wanted(request: ListUsersRequest) -> Callable[[User], bool] | None:
    if not request.HasField("superuser"):
        return None
    return lambda user: user.superuser == request.superuser


SERVICE: Final = GrpcService(
    full_name="quorate_mqtt.v1.UserService",
    add_to_server=users_pb2_grpc.add_UserServiceServicer_to_server,
    servicer=UserServicer,
)
