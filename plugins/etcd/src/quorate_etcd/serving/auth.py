"""The service Auth: users, roles and tokens."""

from __future__ import annotations

import secrets
import time
from typing import Any, Final

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


class Auth:
    """Changes users and roles, and issues tokens."""

    def __init__(self, node: NodeApi, identity: Identity, gatekeeper: Gatekeeper) -> None:
        self._node: Final = node
        self._identity: Final = identity
        self._gatekeeper: Final = gatekeeper
        self._passwords: Final = Passwords()

    async def AuthEnable(self, _: rpc.AuthEnableRequest, __: Any) -> rpc.AuthEnableResponse:
        """Let users count."""
        return rpc.AuthEnableResponse(header=await self._change(enable=True))

    async def AuthDisable(self, _: rpc.AuthDisableRequest, __: Any) -> rpc.AuthDisableResponse:
        """Let users count no more."""
        return rpc.AuthDisableResponse(header=await self._change(enable=False))

    async def AuthStatus(self, _: rpc.AuthStatusRequest, __: Any) -> rpc.AuthStatusResponse:
        """Return whether users count."""
        found = await self._gatekeeper.find()
        return rpc.AuthStatusResponse(
            header=self._identity.header(found.revision),
            enabled=found.guard.auth_enabled,
            authRevision=max(found.guard.auth_revision, 1),
        )

    async def Authenticate(
        self, request: rpc.AuthenticateRequest, _: Any
    ) -> rpc.AuthenticateResponse:
        """Return a token for a password."""
        found = await self._gatekeeper.find(users=[request.name])
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
        return rpc.AuthenticateResponse(
            header=self._identity.header(found.revision),
            token=tokens.issue(claim, found.secret),
        )

    async def UserAdd(self, request: rpc.AuthUserAddRequest, _: Any) -> rpc.AuthUserAddResponse:
        """Add a user."""
        user = pb.User(name=request.name)
        if request.name and not request.options.no_password:
            await self._set_password(user, request.password, request.hashedPassword)
        return rpc.AuthUserAddResponse(header=await self._change(user_add=user))

    async def UserGet(self, request: rpc.AuthUserGetRequest, _: Any) -> rpc.AuthUserGetResponse:
        """Return the roles of a user; root asks for any, another one for itself."""
        found = await self._gatekeeper.find(users=[request.name])
        if found.guard.auth_enabled and callers.user() != request.name:
            await self._demand_root()
        if not found.users:
            errors.USER_NOT_FOUND.refuse()
        return rpc.AuthUserGetResponse(
            header=self._identity.header(found.revision), roles=found.users[0].roles
        )

    async def UserList(self, _: rpc.AuthUserListRequest, __: Any) -> rpc.AuthUserListResponse:
        """Return the names of all users."""
        found = await self._gatekeeper.find(names=True)
        return rpc.AuthUserListResponse(
            header=self._identity.header(found.revision), users=found.user_names
        )

    async def UserDelete(
        self, request: rpc.AuthUserDeleteRequest, _: Any
    ) -> rpc.AuthUserDeleteResponse:
        """Delete a user."""
        return rpc.AuthUserDeleteResponse(header=await self._change(user_delete=request.name))

    async def UserChangePassword(
        self, request: rpc.AuthUserChangePasswordRequest, _: Any
    ) -> rpc.AuthUserChangePasswordResponse:
        """Set another password: tokens that the user has count no more."""
        user = pb.User(name=request.name)
        await self._set_password(user, request.password, request.hashedPassword)
        return rpc.AuthUserChangePasswordResponse(header=await self._change(password=user))

    async def UserGrantRole(
        self, request: rpc.AuthUserGrantRoleRequest, _: Any
    ) -> rpc.AuthUserGrantRoleResponse:
        """Give a user a role."""
        grant = pb.Grant(user=request.user, role=request.role)
        return rpc.AuthUserGrantRoleResponse(header=await self._change(user_grant=grant))

    async def UserRevokeRole(
        self, request: rpc.AuthUserRevokeRoleRequest, _: Any
    ) -> rpc.AuthUserRevokeRoleResponse:
        """Take a role from a user."""
        grant = pb.Grant(user=request.name, role=request.role)
        return rpc.AuthUserRevokeRoleResponse(header=await self._change(user_revoke=grant))

    async def RoleAdd(self, request: rpc.AuthRoleAddRequest, _: Any) -> rpc.AuthRoleAddResponse:
        """Add a role."""
        return rpc.AuthRoleAddResponse(header=await self._change(role_add=request.name))

    async def RoleGet(self, request: rpc.AuthRoleGetRequest, _: Any) -> rpc.AuthRoleGetResponse:
        """Return the permissions of a role; a user asks for its own ones."""
        wanted = [callers.user()] if callers.user() else []
        found = await self._gatekeeper.find(roles=[request.role], users=wanted)
        own = [role for user in found.users for role in user.roles]
        if found.guard.auth_enabled and request.role not in own:
            await self._demand_root()
        if not found.roles:
            errors.ROLE_NOT_FOUND.refuse()
        permissions = [_EVERYTHING] if request.role == "root" else found.roles[0].permissions
        return rpc.AuthRoleGetResponse(
            header=self._identity.header(found.revision), perm=permissions
        )

    async def RoleList(self, _: rpc.AuthRoleListRequest, __: Any) -> rpc.AuthRoleListResponse:
        """Return the names of all roles."""
        found = await self._gatekeeper.find(names=True)
        return rpc.AuthRoleListResponse(
            header=self._identity.header(found.revision), roles=found.role_names
        )

    async def RoleDelete(
        self, request: rpc.AuthRoleDeleteRequest, _: Any
    ) -> rpc.AuthRoleDeleteResponse:
        """Delete a role, also of its users."""
        return rpc.AuthRoleDeleteResponse(header=await self._change(role_delete=request.role))

    async def RoleGrantPermission(
        self, request: rpc.AuthRoleGrantPermissionRequest, _: Any
    ) -> rpc.AuthRoleGrantPermissionResponse:
        """Give a role a range."""
        given = request.perm if request.HasField("perm") else None
        grant = pb.RoleGrant(role=request.name, permission=given)
        return rpc.AuthRoleGrantPermissionResponse(header=await self._change(role_grant=grant))

    async def RoleRevokePermission(
        self, request: rpc.AuthRoleRevokePermissionRequest, _: Any
    ) -> rpc.AuthRoleRevokePermissionResponse:
        """Take a range from a role."""
        taken = auth.Permission(key=request.key, range_end=request.range_end)
        grant = pb.RoleGrant(role=request.role, permission=taken)
        return rpc.AuthRoleRevokePermissionResponse(header=await self._change(role_revoke=grant))

    async def _change(self, **change: Any) -> rpc.ResponseHeader:
        command = pb.Administer(
            store=self._identity.store,
            user=callers.user(),
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
        if not (await self._gatekeeper.rights(callers.user())).root:
            errors.PERMISSION_DENIED.refuse()
