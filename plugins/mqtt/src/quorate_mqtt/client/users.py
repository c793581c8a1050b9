"""Users: who may connect, and with which password."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Records, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.shards import GROUP, tenant_shard
from quorate_mqtt.users.resource import USER
from quorate_mqtt.v1 import users_pb2 as pb

_SERVICE: Final = "/quorate_mqtt.v1.UserService/"


class Users:
    """Writes, reads and authenticates users. Nothing that is read has a password."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[pb.User]] = q.records(USER)

    async def create(
        self,
        tenant: str,
        name: str,
        password: bytes,
        *,
        superuser: bool = False,
        description: str = "",
    ) -> pb.User:
        """Create a user; ALREADY_EXISTS if there is one of that name."""
        request = _creation(tenant, name, password, superuser, description)
        return await self._q.call(f"{_SERVICE}Create", request, pb.User)

    async def update(
        self,
        tenant: str,
        name: str,
        *,
        password: bytes | None = None,
        superuser: bool | None = None,
        description: str | None = None,
    ) -> pb.User:
        """Change what is given, and leave the rest; NOT_FOUND if there is no such user."""
        request = pb.UpdateUserRequest(
            tenant=tenant,
            name=name,
            password=password,
            description=description,
        )
        if superuser is not None:
            request.superuser = superuser
        return await self._q.call(f"{_SERVICE}Update", request, pb.User)

    async def put(
        self,
        tenant: str,
        name: str,
        password: bytes,
        *,
        superuser: bool = False,
        description: str = "",
    ) -> pb.User:
        """Create a user, or replace all that is said of the one of that name."""
        request = _creation(tenant, name, password, superuser, description)
        return await self._q.call(f"{_SERVICE}Put", request, pb.User)

    async def create_many(self, users: Sequence[pb.CreateUserRequest]) -> BatchReply:
        """Create at most 100; the reply names those that were refused by their positions."""
        request = pb.CreateUsersRequest(users=users)
        return await self._q.call(f"{_SERVICE}CreateBatch", request, BatchReply)

    async def update_many(self, changes: Sequence[pb.UpdateUserRequest]) -> BatchReply:
        """Change at most 100, of each what is given; the reply names those that were refused."""
        request = pb.UpdateUsersRequest(users=changes)
        return await self._q.call(f"{_SERVICE}UpdateBatch", request, BatchReply)

    async def put_many(self, users: Sequence[pb.CreateUserRequest]) -> BatchReply:
        """Create or replace at most 100; the reply names those that were refused."""
        request = pb.CreateUsersRequest(users=users)
        return await self._q.call(f"{_SERVICE}PutBatch", request, BatchReply)

    async def delete(self, *key: Any, missing_ok: bool = False) -> BatchReply | None:
        """Delete the user of a tenant and a name, or those of a list of such pairs.

        NOT_FOUND if there is none, unless `missing_ok`.
        """
        reply: BatchReply | None = await self._records.delete(*key, missing_ok=missing_ok)
        return reply

    async def get(self, *key: Any) -> Any:
        """Return the user of a tenant and a name, or None; of a list of such pairs a list."""
        return await self._records.get(*key)

    async def list(self, /, **conditions: Any) -> AsyncGenerator[pb.User, None]:
        """Yield users in the order of tenants and names; `conditions` are as in `Records.list`."""
        async for user in self._records.list(**conditions):
            yield user

    async def authenticate(
        self, tenant: str, name: str, password: bytes
    ) -> pb.AuthenticateResponse:
        """Tell whether that is the password of that user; unknown users have none."""
        return await self._q.call(
            f"{_SERVICE}Authenticate",
            pb.AuthenticateRequest(tenant=tenant, name=name, password=password),
            pb.AuthenticateResponse,
            group=GROUP,
            shard_key=tenant_shard(tenant),
            read=True,
        )

    async def authenticate_many(self, logins: Sequence[pb.AuthenticateRequest]) -> BatchReply:
        """Tell it of at most 1,000; each reply in the reply is an `AuthenticateResponse`."""
        request = pb.AuthenticateUsersRequest(logins=logins)
        return await self._q.call(f"{_SERVICE}AuthenticateBatch", request, BatchReply, read=True)


class SyncUsers(Blocking[Users]):
    """The same, without `await`."""

    create = blocking(Users.create)
    update = blocking(Users.update)
    put = blocking(Users.put)
    create_many = blocking(Users.create_many)
    update_many = blocking(Users.update_many)
    put_many = blocking(Users.put_many)
    delete = blocking(Users.delete)
    get = blocking(Users.get)
    list = iterating(Users.list)
    authenticate = blocking(Users.authenticate)
    authenticate_many = blocking(Users.authenticate_many)


def _creation(
    tenant: str, name: str, password: bytes, superuser: bool, description: str
) -> pb.CreateUserRequest:
    return pb.CreateUserRequest(
        tenant=tenant, name=name, password=password, superuser=superuser, description=description
    )
