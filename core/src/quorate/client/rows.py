"""The rows of a class, for the typed clients that `quorate plugin protos` writes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeVar

from quorate.client.records import RecordChange
from quorate.plugin.rows import Row, message_of, resource_of, row_of
from quorate.plugin.rows.row import plain
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

F = TypeVar("F", bound=Row)


class _Unset(Enum):
    UNSET = "unset"


#: The value of a field that an update leaves as it is.
UNSET: Final = _Unset.UNSET
Unset = Literal[_Unset.UNSET]


class Rows(Generic[F]):
    """Creates, reads, changes and watches the rows of one class."""

    row_class: ClassVar[type[Any]]

    def __init__(self, q: AsyncClient) -> None:
        self._cls: Final[type[F]] = self.row_class
        self._resource: Final = resource_of(self.row_class)
        self._records: Final = q.records(self._resource)

    async def create(self, row: F, *, timeout_s: float | None = None) -> F:
        """Create a row; ALREADY_EXISTS if there is one of that key."""
        return self._row(await self._records.create(message_of(row), timeout_s=timeout_s))

    async def put(self, row: F, *, timeout_s: float | None = None) -> F:
        """Create a row, or replace all that callers say of the one that is there."""
        return self._row(await self._records.put(message_of(row), timeout_s=timeout_s))

    async def create_each(self, rows: Iterable[F], *, timeout_s: float | None = None) -> BatchReply:
        """Create many rows; the answer names those that were refused by their positions."""
        given = [message_of(row) for row in rows]
        reply: BatchReply = await self._records.create(given, timeout_s=timeout_s)
        return reply

    async def put_each(self, rows: Iterable[F], *, timeout_s: float | None = None) -> BatchReply:
        """Create or replace many rows; the answer names those that were refused."""
        given = [message_of(row) for row in rows]
        reply: BatchReply = await self._records.put(given, timeout_s=timeout_s)
        return reply

    # What the generated methods do: these have the names and types of a class's own fields.

    async def _get(self, key: tuple[Any, ...], *, stale: bool, timeout_s: float | None) -> F | None:
        found = await self._records.get(key, stale=stale, timeout_s=timeout_s)
        return None if found is None else self._row(found)

    async def _list(self, given: dict[str, Any]) -> AsyncGenerator[F, None]:
        async for each in self._records.list(**_given(given)):
            yield self._row(each)

    async def _count(self, given: dict[str, Any]) -> int:
        return await self._records.count(**_given(given))

    async def _update(
        self, key: tuple[Any, ...], given: dict[str, Any], timeout_s: float | None
    ) -> F:
        fields = {name: value for name, value in given.items() if value is not UNSET}
        said = {name: plain(value) for name, value in fields.items() if value is not None}
        row = self._resource.row(**self._key(key), **said)
        updated = await self._records.update(row, fields=fields, timeout_s=timeout_s)
        return self._row(updated)

    async def _delete(
        self,
        key: tuple[Any, ...],
        *,
        missing_ok: bool,
        expected_revision: int | None,
        timeout_s: float | None,
    ) -> None:
        await self._records.delete(
            key,
            missing_ok=missing_ok,
            expected_revision=expected_revision,
            timeout_s=timeout_s,
        )

    async def _do(
        self, verb: str, key: tuple[Any, ...], given: dict[str, Any], timeout_s: float | None
    ) -> F:
        item: Any = self._records._item_of(verb)
        asked = item(**self._key(key), **_given(given))
        return self._row(
            await self._records.do(verb, asked, self._resource.row, timeout_s=timeout_s)
        )

    async def _watch(
        self, leading: tuple[Any, ...], *, token: bytes, changes_only: bool
    ) -> AsyncGenerator[RecordChange[Any], None]:
        parts = [each for each in leading if each]
        async for change in self._records.watch(*parts, token=token, changes_only=changes_only):
            yield change

    def _row(self, message: Any) -> F:
        return row_of(self._cls, message)

    def _key(self, key: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self._resource.key, key, strict=True))


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: plain(value) for name, value in values.items() if value is not None}
