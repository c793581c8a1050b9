"""A server of etcd's API as a copy sees it: calls that are repeated while it is unavailable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, Self, TypeVar

from quorate.client import Tls
from quorate.client.foreign import CallError, channel_to
from quorate.plugin.advanced import Stub

from quorate_etcd import errors
from quorate_etcd.serving.statuses import CODES
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

T = TypeVar("T")

_SERVICES: Final = rpc.DESCRIPTOR.services_by_name
#: How long a server may be unavailable, as while it elects a leader.
_PATIENCE_S: Final = 30.0
_PAUSE_S: Final = 0.2
#: Pairs of one answer.
_PAGE: Final = 200
_ALL: Final = b"\x00"


class PeerError(Exception):
    """A server refused a call, or was unavailable for too long."""

    def __init__(self, address: str, code: int, text: str) -> None:
        super().__init__(f"{address}: {text}")
        self.code: Final = code
        self.text: Final = text


class Peer:
    """Calls one server; `user` is `name:password`, or empty."""

    def __init__(self, address: str, *, tls: Tls | None = None, user: str = "") -> None:
        self.address: Final = address
        try:
            self._channel: Final = channel_to(address, tls)
        except ValueError as error:
            raise PeerError(address, 0, str(error)) from None
        self._user: Final = user
        self._advice: Final = "" if tls else " (if its connections are encrypted, give --ca)"
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._kv, self._watch, self._lease, self._auth = (
            Stub(self._channel, _SERVICES[name]) for name in ("KV", "Watch", "Lease", "Auth")
        )

    async def __aenter__(self) -> Self:
        """Authenticate, if there is a user."""
        if self._user:
            await self._authenticate()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the channel."""
        await self._channel.close()

    async def revision(self) -> int:
        """Return the current revision."""
        found = await self._call(self._kv.Range, rpc.RangeRequest(key=_ALL, count_only=True))
        return int(found.header.revision)

    async def count(self, revision: int) -> int:
        """Return the number of keys at a revision; 0: the current one."""
        request = rpc.RangeRequest(key=_ALL, range_end=_ALL, count_only=True, revision=revision)
        return int((await self._call(self._kv.Range, request)).count)

    async def pairs(self, revision: int) -> AsyncIterator[mvcc.KeyValue]:
        """Yield all pairs at a revision, in the order of their keys."""
        request = rpc.RangeRequest(key=_ALL, range_end=_ALL, limit=_PAGE, revision=revision)
        while True:
            page = await self._call(self._kv.Range, request)
            for pair in page.kvs:
                yield pair
            if not page.more:
                return
            request.key = page.kvs[-1].key + b"\x00"

    async def write(self, operations: Sequence[rpc.RequestOp]) -> None:
        """Carry out puts and deletions of different keys in one revision; it may be repeated."""
        await self._call(self._kv.Txn, rpc.TxnRequest(success=operations))

    async def changes(self, start: int) -> AsyncGenerator[rpc.WatchResponse, None]:
        """Yield the changes of all keys from a revision on; raises `PeerError` at their end."""
        create = rpc.WatchCreateRequest(key=_ALL, range_end=_ALL, start_revision=start)
        if self._user:
            # A stock server that has forgotten the token, as after its restart, denies the right.
            await self._authenticate()
        call = self._watch.Watch(metadata=self._metadata)
        try:
            await call.write(rpc.WatchRequest(create_request=create))
            async for response in call:
                if response.canceled:
                    compacted = response.compact_revision
                    reason = response.cancel_reason or f"revision {compacted} was compacted"
                    raise PeerError(self.address, CODES["OUT_OF_RANGE"], reason)
                yield response
            raise PeerError(self.address, CODES["UNAVAILABLE"], "it has ended the watch")
        except CallError as error:
            raise self._error(error) from None
        finally:
            call.cancel()

    async def leases(self) -> list[int]:
        """Return the numbers of all leases."""
        found = await self._call(self._lease.LeaseLeases, rpc.LeaseLeasesRequest())
        return [each.ID for each in found.leases]

    async def ttl(self, lease: int) -> int:
        """Return the time to live that a lease was granted, in seconds; 0: there is no such one."""
        request = rpc.LeaseTimeToLiveRequest(ID=lease)
        return int((await self._call(self._lease.LeaseTimeToLive, request)).grantedTTL)

    async def grant(self, lease: int, ttl_s: int) -> None:
        """Make a lease, if there is none of this number."""
        request = rpc.LeaseGrantRequest(ID=lease, TTL=ttl_s)
        try:
            await self._call(self._lease.LeaseGrant, request)
        except PeerError as error:
            if error.text != errors.LEASE_EXISTS.text:
                raise

    async def revoke(self, lease: int) -> None:
        """End a lease and its keys, if there is one of this number."""
        try:
            await self._call(self._lease.LeaseRevoke, rpc.LeaseRevokeRequest(ID=lease))
        except PeerError as error:
            if error.text != errors.LEASE_NOT_FOUND.text:
                raise

    async def renew(self, leases: Sequence[int]) -> list[int]:
        """Give leases their whole time to live again; return those that have ended."""
        return await self._patiently(lambda: self._renew(leases))

    async def _renew(self, leases: Sequence[int]) -> list[int]:
        call = self._lease.LeaseKeepAlive(metadata=self._metadata)
        ended = []
        try:
            for at in range(0, len(leases), _PAGE):
                some = leases[at : at + _PAGE]
                for lease in some:
                    await call.write(rpc.LeaseKeepAliveRequest(ID=lease))
                for lease in some:
                    if not (await call.read()).TTL:
                        ended.append(lease)
        finally:
            call.cancel()
        return ended

    async def users(self) -> list[str]:
        """Return the names of the users."""
        found = await self._call(self._auth.UserList, rpc.AuthUserListRequest())
        return list(found.users)

    async def _authenticate(self) -> None:
        name, _, password = self._user.partition(":")
        request = rpc.AuthenticateRequest(name=name, password=password)
        self._metadata = (("token", (await self._call(self._auth.Authenticate, request)).token),)

    async def _call(self, method: Any, request: Any) -> Any:
        return await self._patiently(
            lambda: method(request, metadata=self._metadata, timeout=_PATIENCE_S)
        )

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Repeat calls while the server is unavailable, or has forgotten the token."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE_S
        while True:
            try:
                return await ask()
            except CallError as failure:
                error = self._error(failure)
            if error.text == errors.INVALID_TOKEN.text and self._user:
                await self._authenticate()
            elif error.code != CODES["UNAVAILABLE"]:
                raise error
            if loop.time() >= until:
                raise error
            await asyncio.sleep(_PAUSE_S)

    def _error(self, failure: CallError) -> PeerError:
        code, text = int(failure.code()), failure.details() or ""
        advice = self._advice if code == CODES["UNAVAILABLE"] else ""
        return PeerError(self.address, code, text + advice)
