"""Users: who may connect, and with which password."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

from google.protobuf.message import Message
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

    async def create(self, users: Any) -> Any:
        """Create a user by a `CreateUserRequest`, or at most 100 by a list of them.

        One is answered with the user; ALREADY_EXISTS if there is one of that name. The reply to
        many names those that were refused by their positions.
        """
        return await self._write("Create", pb.CreateUsersRequest, users)

    async def update(self, users: Any) -> Any:
        """Change what an `UpdateUserRequest` gives, or at most 100; NOT_FOUND if there is none."""
        return await self._write("Update", pb.UpdateUsersRequest, users)

    async def put(self, users: Any) -> Any:
        """Create users, or replace all that is said of those that there are."""
        return await self._write("Put", pb.CreateUsersRequest, users)

    async def delete(self, *key: Any, missing_ok: bool = False) -> BatchReply | None:
        """Delete the user of a tenant and a name, or those of a list of such pairs.

        NOT_FOUND if there is none, unless `missing_ok`.
        """
        reply: BatchReply | None = await self._records.delete(*key, missing_ok=missing_ok)
        return reply

    async def get(self, *key: Any) -> Any:
        """Return the user of a tenant and a name, or None; of a list of such pairs a list."""
        return await self._records.get(*key)

    def list(self, /, **conditions: Any) -> AsyncGenerator[pb.User, None]:
        """Yield users in the order of tenants and names; `conditions` are as in `Records.list`."""
        return self._records.list(**conditions)

    async def authenticate(
        self, tenant: str, name: str, password: bytes, address: str = ""
    ) -> pb.AuthenticateResponse:
        """Return whether that is the password of that user; unknown users have none.

        Wrong passwords are counted by user and `address`, from where the broker's client connects.
        """
        return await self._q.call(
            f"{_SERVICE}Authenticate",
            pb.AuthenticateRequest(tenant=tenant, name=name, password=password, address=address),
            pb.AuthenticateResponse,
            group=GROUP,
            shard_key=tenant_shard(tenant),
            read=True,
        )

    async def authenticate_many(self, logins: Sequence[pb.AuthenticateRequest]) -> BatchReply:
        """Check at most 1,000 passwords; each reply in the reply is an `AuthenticateResponse`.

        Those of one tenant are recognised where its logins were verified.
        """
        request = pb.AuthenticateUsersRequest(logins=logins)
        tenants = {login.tenant for login in logins}
        return await self._q.call(
            f"{_SERVICE}AuthenticateBatch",
            request,
            BatchReply,
            group=GROUP if len(tenants) == 1 else None,
            shard_key=tenant_shard(tenants.pop()) if len(tenants) == 1 else None,
            read=True,
        )

    async def _write(self, verb: str, batch: type[Any], users: Any) -> Any:
        if isinstance(users, Message):
            return await self._q.call(_SERVICE + verb, users, pb.User)
        return await self._q.call(f"{_SERVICE}{verb}Batch", batch(users=users), BatchReply)


class SyncUsers(Blocking[Users]):
    """The same, without `await`."""

    create = blocking(Users.create)
    update = blocking(Users.update)
    put = blocking(Users.put)
    delete = blocking(Users.delete)
    get = blocking(Users.get)
    list = iterating(Users.list)
    authenticate = blocking(Users.authenticate)
    authenticate_many = blocking(Users.authenticate_many)
