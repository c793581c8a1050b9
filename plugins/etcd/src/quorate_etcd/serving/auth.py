"""The service Auth: users, roles and tokens."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from google.protobuf.message_factory import GetMessageClass
from quorate.plugin import NodeApi, Rejected

from quorate_etcd import errors
from quorate_etcd.auth import callers, tokens
from quorate_etcd.auth.passwords import Passwords
from quorate_etcd.serving.gatekeeper import Gatekeeper
from quorate_etcd.serving.identity import Identity
from quorate_etcd.v1 import guard_pb2 as pb
from quorate_etcd.wire import auth_pb2 as auth, rpc_pb2 as rpc

_SECRET_BYTES: Final = 32
_EVERYTHING: Final = auth.Permission(permType=auth.Permission.READWRITE, range_end=b"\0")
_METHODS: Final = rpc.DESCRIPTOR.services_by_name["Auth"].methods_by_name

Change = Mapping[str, Any]


def _permitted(request: rpc.AuthRoleGrantPermissionRequest) -> Change:
    given = request.perm if request.HasField("perm") else None
    return {"role_grant": pb.RoleGrant(role=request.name, permission=given)}


def _forbidden(request: rpc.AuthRoleRevokePermissionRequest) -> Change:
    taken = auth.Permission(key=request.key, range_end=request.range_end)
    return {"role_revoke": pb.RoleGrant(role=request.role, permission=taken)}


#: By method: the change that its request asks for, as a field of `Administer`.
_CHANGES: Final[Mapping[str, Callable[[Any], Change]]] = {
    "AuthEnable": lambda _: {"enable": True},
    "AuthDisable": lambda _: {"enable": False},
    "UserDelete": lambda asked: {"user_delete": asked.name},
    "UserGrantRole": lambda asked: {"user_grant": pb.Grant(user=asked.user, role=asked.role)},
    "UserRevokeRole": lambda asked: {"user_revoke": pb.Grant(user=asked.name, role=asked.role)},
    "RoleAdd": lambda asked: {"role_add": asked.name},
    "RoleDelete": lambda asked: {"role_delete": asked.role},
    "RoleGrantPermission": _permitted,
    "RoleRevokePermission": _forbidden,
}


class Auth:
    """Changes users and roles, and issues tokens."""

    def __init__(self, node: NodeApi, identity: Identity, gatekeeper: Gatekeeper) -> None:
        self._node: Final = node
        self._identity: Final = identity
        self._gatekeeper: Final = gatekeeper
        self._passwords: Final = Passwords()
        for name, change_of in _CHANGES.items():
            answer = GetMessageClass(_METHODS[name].output_type)
            setattr(self, name, partial(self._carry_out, change_of, answer))

    async def _carry_out(
        self, change_of: Callable[[Any], Change], answer: Any, request: Any, _: Any
    ) -> Any:
        return answer(header=await self._change(**change_of(request)))

    async def AuthStatus(self, _: rpc.AuthStatusRequest, __: Any) -> rpc.AuthStatusResponse:
        """Return whether users count."""
        found, header = await self._find()
        return rpc.AuthStatusResponse(
            header=header,
            enabled=found.guard.auth_enabled,
            authRevision=max(found.guard.auth_revision, 1),
        )

    async def Authenticate(
        self, request: rpc.AuthenticateRequest, _: Any
    ) -> rpc.AuthenticateResponse:
        """Return a token for a password."""
        found, header = await self._find(users=[request.name])
        if not found.guard.auth_enabled:
            errors.AUTH_DISABLED.refuse()
        user = found.users[0] if found.users else pb.User(hash=b"?", salt=b"?")
        if not user.hash:
            errors.NO_PASSWORD_USER.refuse()
        # A user that does not exist takes as long.
        right = await self._passwords.matches(request.password, user.salt, user.hash)
        if not right or not found.users:
            errors.AUTH_FAILED.refuse()
        claim = tokens.Claim(user.name, user.password_revision, int(time.time()))
        return rpc.AuthenticateResponse(header=header, token=tokens.issue(claim, found.secret))

    async def UserAdd(self, request: rpc.AuthUserAddRequest, _: Any) -> rpc.AuthUserAddResponse:
        """Add a user."""
        user = pb.User(name=request.name)
        if request.name and not request.options.no_password:
            await self._set_password(user, request.password, request.hashedPassword)
        return rpc.AuthUserAddResponse(header=await self._change(user_add=user))

    async def UserGet(self, request: rpc.AuthUserGetRequest, _: Any) -> rpc.AuthUserGetResponse:
        """Return the roles of a user; root asks for any, another one for itself."""
        found, header = await self._find(users=[request.name])
        if found.guard.auth_enabled and callers.user.get() != request.name:
            await self._demand_root()
        if not found.users:
            errors.USER_NOT_FOUND.refuse()
        return rpc.AuthUserGetResponse(header=header, roles=found.users[0].roles)

    async def UserList(self, _: rpc.AuthUserListRequest, __: Any) -> rpc.AuthUserListResponse:
        """Return the names of all users."""
        found, header = await self._find(names=True)
        return rpc.AuthUserListResponse(header=header, users=found.user_names)

    async def UserChangePassword(
        self, request: rpc.AuthUserChangePasswordRequest, _: Any
    ) -> rpc.AuthUserChangePasswordResponse:
        """Set another password: tokens that the user has count no more."""
        user = pb.User(name=request.name)
        await self._set_password(user, request.password, request.hashedPassword)
        return rpc.AuthUserChangePasswordResponse(header=await self._change(password=user))

    async def RoleGet(self, request: rpc.AuthRoleGetRequest, _: Any) -> rpc.AuthRoleGetResponse:
        """Return the permissions of a role; a user asks for its own ones."""
        wanted = [callers.user.get()] if callers.user.get() else []
        found, header = await self._find(roles=[request.role], users=wanted)
        own = [role for user in found.users for role in user.roles]
        if found.guard.auth_enabled and request.role not in own:
            await self._demand_root()
        if not found.roles:
            errors.ROLE_NOT_FOUND.refuse()
        permissions = [_EVERYTHING] if request.role == "root" else found.roles[0].permissions
        return rpc.AuthRoleGetResponse(header=header, perm=permissions)

    async def RoleList(self, _: rpc.AuthRoleListRequest, __: Any) -> rpc.AuthRoleListResponse:
        """Return the names of all roles."""
        found, header = await self._find(names=True)
        return rpc.AuthRoleListResponse(header=header, roles=found.role_names)

    async def _find(self, **wanted: Any) -> tuple[pb.Guarded, rpc.ResponseHeader]:
        found = await self._gatekeeper.find(**wanted)
        return found, self._identity.header(found.revision)

    async def _change(self, **change: Any) -> rpc.ResponseHeader:
        command = pb.Administer(
            store=self._identity.store,
            user=callers.user.get(),
            secret=secrets.token_bytes(_SECRET_BYTES),
            **change,
        )
        done = await self._node.propose(command, pb.Administered)
        self._gatekeeper.changed()
        return self._identity.header(done.revision)

    async def _set_password(self, user: pb.User, password: str, hashed: str) -> None:
        if hashed:
            raise Rejected(
                "FAILED_PRECONDITION",
                f"{errors.PREFIX}not capable: passwords are kept as hashes of another kind than "
                "that of hashedPassword; send the password",
            )
        user.salt, user.hash = await self._passwords.hashed(password)

    async def _demand_root(self) -> None:
        if not (await self._gatekeeper.rights(callers.user.get())).root:
            errors.PERMISSION_DENIED.refuse()
