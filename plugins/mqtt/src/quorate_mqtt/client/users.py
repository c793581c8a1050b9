"""Users: the accounts of clients, and their passwords."""

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
    """Writes, reads and authenticates users. Reads never return passwords."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[pb.User]] = q.records(USER)

    async def create(self, users: Any) -> Any:
        """Create a user by a `CreateUserRequest`, or at most 100 by a list of them.

        The reply to one is the user; ALREADY_EXISTS if the name is taken. The reply to many names
        the refused items by position.
        """
        return await self._write("Create", pb.CreateUsersRequest, users)

    async def update(self, users: Any) -> Any:
        """Apply an `UpdateUserRequest`, or at most 100; NOT_FOUND if a user does not exist."""
        return await self._write("Update", pb.UpdateUsersRequest, users)

    async def put(self, users: Any) -> Any:
        """Create users, or replace existing users entirely."""
        return await self._write("Put", pb.CreateUsersRequest, users)

    async def delete(self, *key: Any, missing_ok: bool = False) -> BatchReply | None:
        """Delete the user of a tenant and a name, or those of a list of such pairs.

        NOT_FOUND if the user does not exist, unless `missing_ok`.
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
        """Return whether a password is that of a user; no password is right for an unknown user.

        Wrong passwords are counted by user and `address`, the address of the broker's client.
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

        A batch of one tenant goes to the node that verified its logins, and so recognises them.
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
