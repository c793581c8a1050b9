"""Resources: configuration by path, whose values are opaque."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from google.protobuf.empty_pb2 import Empty

from quorate.client import reading
from quorate.client.twins import Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.resource_pb2 import (
    DeleteResource,
    DeleteResources,
    FoundResources,
    GetResource,
    GetResources,
    ListResources,
    PutResource,
    PutResources,
    ResourcePage,
    StoredResource,
)

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

_SERVICE: Final = "/quorate.v1.ResourceService/"


class Resources:
    """Writes and reads resources. A value is replaced as a whole; what is in it is the caller's."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def create(
        self, path: str, value: bytes, *, timeout_s: float | None = None
    ) -> StoredResource:
        """Write a resource; REVISION_MISMATCH if there is one of that path."""
        return await self.put(path, value, expected_revision=0, timeout_s=timeout_s)

    async def update(
        self, path: str, value: bytes, expected_revision: int, *, timeout_s: float | None = None
    ) -> StoredResource:
        """Replace the value that was read; REVISION_MISMATCH if another one stands."""
        return await self.put(path, value, expected_revision=expected_revision, timeout_s=timeout_s)

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_revision: int | None = None,
        timeout_s: float | None = None,
    ) -> StoredResource:
        """Write a resource, new or not; return it with its revision.

        With `expected_revision` it is refused with REVISION_MISMATCH unless the resource has that
        revision; 0: unless there is none.
        """
        command = PutResource(path=path, value=value, expected_revision=expected_revision)
        return await self._q.execute(command, StoredResource, timeout_s=timeout_s)

    async def delete(
        self,
        path: str,
        *,
        expected_revision: int | None = None,
        missing_ok: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Delete a resource; NOT_FOUND if there is none, unless `missing_ok`."""
        command = DeleteResource(
            path=path, expected_revision=expected_revision, missing_ok=missing_ok
        )
        await self._q.execute(command, Empty, timeout_s=timeout_s)

    async def put_many(
        self, values: Mapping[str, bytes], *, timeout_s: float | None = None
    ) -> BatchReply:
        """Write many by path; the reply names those that were refused by their positions."""
        puts = [PutResource(path=path, value=value) for path, value in values.items()]
        return await self._q.execute(PutResources(puts=puts), BatchReply, timeout_s=timeout_s)

    async def delete_many(
        self, paths: Iterable[str], *, missing_ok: bool = False, timeout_s: float | None = None
    ) -> BatchReply:
        """Delete many; the reply names those that were refused by their positions."""
        deletions = [DeleteResource(path=path, missing_ok=missing_ok) for path in paths]
        command = DeleteResources(deletions=deletions)
        return await self._q.execute(command, BatchReply, timeout_s=timeout_s)

    async def get(self, path: str, *, timeout_s: float | None = None) -> StoredResource | None:
        """Return a resource with its revision; None if there is none."""
        request = GetResource(path=path)
        return await reading.get(self._q, f"{_SERVICE}Get", request, StoredResource, timeout_s)

    async def get_many(
        self, paths: Iterable[str], *, timeout_s: float | None = None
    ) -> dict[str, StoredResource]:
        """Return those of at most 100 resources that there are, by path."""
        request = GetResources(paths=paths)
        method = f"{_SERVICE}GetBatch"
        found = await reading.read(self._q, method, request, FoundResources, timeout_s)
        return {each.resource.path: each for each in found.resources}

    async def list(
        self, prefix: str = "", *, timeout_s: float | None = None
    ) -> AsyncGenerator[StoredResource, None]:
        """Yield the resources whose paths begin with a prefix, in the order of their paths."""
        request = ListResources(prefix=prefix)
        async for page in reading.pages(
            self._q, f"{_SERVICE}List", request, ResourcePage, timeout_s
        ):
            for resource in page.resources:
                yield resource


class SyncResources(Blocking[Resources]):
    """The same, without `await`."""

    create = blocking(Resources.create)
    update = blocking(Resources.update)
    put = blocking(Resources.put)
    delete = blocking(Resources.delete)
    put_many = blocking(Resources.put_many)
    delete_many = blocking(Resources.delete_many)
    get = blocking(Resources.get)
    get_many = blocking(Resources.get_many)
    list = iterating(Resources.list)
