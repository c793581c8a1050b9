"""Users: who may connect, and with which password."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.client import AsyncClient, Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import GROUP, tenant_shard
from quorate_mqtt.v1.definitions_pb2 import DefinitionName
from quorate_mqtt.v1.users_pb2 import (
    AuthenticateRequest,
    AuthenticateResponse,
    AuthenticateUsersRequest,
    CreateUserRequest,
    CreateUsersRequest,
    DeleteUsersCommand,
    ListUsersRequest,
    UpdateUserRequest,
    UpdateUsersRequest,
    User,
    UserPage,
)

_SERVICE: Final = "/quorate_mqtt.v1.UserService/"
_DELETION: Final = Batch[DefinitionName](message=DeleteUsersCommand, field="names")
_LISTING: Final[Listing[ListUsersRequest, UserPage, User]] = Listing(
    method=f"{_SERVICE}List", page=UserPage, rows=lambda page: (page.users, page.next_page_token)
)


class Users:
    """Writes, reads and authenticates users. Nothing that is read has a password."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def create(
        self,
        tenant: str,
        name: str,
        password: bytes,
        *,
        superuser: bool = False,
        description: str = "",
    ) -> User:
        """Make a user; ALREADY_EXISTS if there is one of that name."""
        request = CreateUserRequest(
            tenant=tenant,
            name=name,
            password=password,
            superuser=superuser,
            description=description,
        )
        return await self._q.call(f"{_SERVICE}Create", request, User)

    async def update(
        self,
        tenant: str,
        name: str,
        *,
        password: bytes | None = None,
        superuser: bool | None = None,
        description: str | None = None,
    ) -> User:
        """Change what is given, and leave the rest; NOT_FOUND if there is no such user."""
        request = UpdateUserRequest(
            tenant=tenant,
            name=name,
            password=password,
            description=description,
        )
        if superuser is not None:
            request.superuser = superuser
        return await self._q.call(f"{_SERVICE}Update", request, User)

    async def put(
        self,
        tenant: str,
        name: str,
        password: bytes,
        *,
        superuser: bool = False,
        description: str = "",
    ) -> User:
        """Make a user, or replace all that is said of the one of that name."""
        request = CreateUserRequest(
            tenant=tenant,
            name=name,
            password=password,
            superuser=superuser,
            description=description,
        )
        return await self._q.call(f"{_SERVICE}Put", request, User)

    async def delete(self, tenant: str, name: str, *, missing_ok: bool = False) -> None:
        """Delete a user; NOT_FOUND if there is none of that name, unless `missing_ok`."""
        named = DefinitionName(tenant=tenant, name=name, missing_ok=missing_ok)
        await self._q.call(
            f"{_SERVICE}Delete", named, Empty, group=GROUP, shard_key=tenant_shard(tenant)
        )

    async def create_many(self, users: Sequence[CreateUserRequest]) -> BatchReply:
        """Make at most 100; the reply names those that were refused by their positions."""
        return await self._q.call(
            f"{_SERVICE}CreateBatch", CreateUsersRequest(users=users), BatchReply
        )

    async def update_many(self, changes: Sequence[UpdateUserRequest]) -> BatchReply:
        """Change at most 100, of each what is given; the reply names those that were refused."""
        return await self._q.call(
            f"{_SERVICE}UpdateBatch", UpdateUsersRequest(users=changes), BatchReply
        )

    async def put_many(self, users: Sequence[CreateUserRequest]) -> BatchReply:
        """Make or replace at most 100; the reply names those that were refused."""
        return await self._q.call(
            f"{_SERVICE}PutBatch", CreateUsersRequest(users=users), BatchReply
        )

    async def delete_many(
        self, tenant: str, names: Iterable[str], *, missing_ok: bool = False
    ) -> BatchReply:
        """Delete many of a tenant; the reply names those that were refused."""
        named = (DefinitionName(tenant=tenant, name=name, missing_ok=missing_ok) for name in names)
        return await batching.execute(self._q, _DELETION.of, named)

    async def get(self, tenant: str, name: str) -> User | None:
        """Return a user; None if there is none of that name."""
        named = DefinitionName(tenant=tenant, name=name)
        return await reading.get(
            self._q, f"{_SERVICE}Get", named, User, shard_key=tenant_shard(tenant)
        )

    async def list(self, request: ListUsersRequest) -> AsyncGenerator[User, None]:
        """Yield the users that fit, in the order of tenants and names."""
        async for user in _LISTING.read(self._q, request):
            yield user

    async def authenticate(self, tenant: str, name: str, password: bytes) -> AuthenticateResponse:
        """Tell whether that is the password of that user; unknown users have none."""
        request = AuthenticateRequest(tenant=tenant, name=name, password=password)
        return await self._q.call(
            f"{_SERVICE}Authenticate",
            request,
            AuthenticateResponse,
            group=GROUP,
            shard_key=tenant_shard(tenant),
            read=True,
        )

    async def authenticate_many(self, logins: Sequence[AuthenticateRequest]) -> BatchReply:
        """Tell it of at most 1,000; each reply in the reply is an `AuthenticateResponse`."""
        request = AuthenticateUsersRequest(logins=logins)
        return await self._q.call(f"{_SERVICE}AuthenticateBatch", request, BatchReply, read=True)


class SyncUsers(Blocking[Users]):
    """The same, without `await`."""

    create = blocking(Users.create)
    update = blocking(Users.update)
    put = blocking(Users.put)
    delete = blocking(Users.delete)
    create_many = blocking(Users.create_many)
    update_many = blocking(Users.update_many)
    put_many = blocking(Users.put_many)
    delete_many = blocking(Users.delete_many)
    get = blocking(Users.get)
    list = iterating(Users.list)
    authenticate = blocking(Users.authenticate)
    authenticate_many = blocking(Users.authenticate_many)
