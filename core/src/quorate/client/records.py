"""The rows of a resource, written and read by its declaration: nothing is generated or repeated."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, Unpack, overload

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from quorate.client.errors import InvalidError, RejectedError, or_none
from quorate.client.twins import Blocking, blocking, iterating
from quorate.client.vocabulary import item_error, parts_of
from quorate.client.watching import ChangeKind
from quorate.plugin import keys
from quorate.plugin.batch_split import INVALID, names_item
from quorate.plugin.batches import in_parts, join_parts
from quorate.plugin.resource import Resource, bind
from quorate.plugin.resource.binding import (
    EXPECTED,
    MISSING_OK,
    TOKEN,
    Read,
    Write,
    inner_field,
    set_field,
)
from quorate.plugin.updates import UPDATE_MASK
from quorate.v1.batch_pb2 import BatchReply

if TYPE_CHECKING:
    from quorate.client.asynchronous import AsyncClient

R = TypeVar("R", bound=Message)
A = TypeVar("A", bound=Message)

#: One part of a key, or all of them in their order.
Key = str | int | tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange(Generic[R]):
    """A change of a row in a watch; `row` is None after a deletion, and for a `RESYNC`."""

    kind: ChangeKind
    #: The parts of the row's key.
    key: tuple[str | int | bytes, ...] = ()
    row: R | None = None
    #: The row before the change, of a family that keeps it.
    previous: R | None = None
    revision: int = 0
    #: Resumes a watch after this change; empty while the current rows are given.
    token: bytes = b""
    #: Of a `RESYNC`: the reason.
    reason: str = ""


class DoOptions(TypedDict, total=False):
    """What a verb may be told beside its items."""

    #: The fields that an update changes.
    mask: FieldMask | None
    #: A command with what it says beside its items.
    like: Message | None
    timeout_s: float | None


class Records(Generic[R]):
    """Creates, updates, puts, deletes, reads, lists and watches the rows of one resource.

    Each verb takes one row or many. One is answered with the row, and its refusal is raised; many
    are answered with a `BatchReply`, which names those that were refused by their positions.
    """

    def __init__(self, q: AsyncClient, resource: Resource[R]) -> None:
        self._q: Final = q
        self._resource: Final = resource
        self._binding: Final = bind(resource)
        self._answer: Final[type[Any]] = resource.serving.answer or resource.row
        self._service: Final = f"/{resource.service.full_name}/"

    @overload
    async def create(self, rows: R, /, *, timeout_s: float | None = None) -> R: ...
    @overload
    async def create(
        self, rows: Iterable[R], /, *, timeout_s: float | None = None
    ) -> BatchReply: ...
    async def create(self, rows: Any, /, *, timeout_s: float | None = None) -> Any:
        """Create rows; ALREADY_EXISTS if there is one of that key."""
        return await self.do("Create", rows, timeout_s=timeout_s)

    @overload
    async def update(
        self, rows: R, /, *, fields: Iterable[str] = (), timeout_s: float | None = None
    ) -> R: ...
    @overload
    async def update(
        self, rows: Iterable[R], /, *, fields: Iterable[str] = (), timeout_s: float | None = None
    ) -> BatchReply: ...
    async def update(
        self, rows: Any, /, *, fields: Iterable[str] = (), timeout_s: float | None = None
    ) -> Any:
        """Update the given fields of rows: those in `fields`, or else all that are not empty."""
        mask = FieldMask(paths=fields)
        return await self.do("Update", rows, mask=mask, timeout_s=timeout_s)

    @overload
    async def put(self, rows: R, /, *, timeout_s: float | None = None) -> R: ...
    @overload
    async def put(self, rows: Iterable[R], /, *, timeout_s: float | None = None) -> BatchReply: ...
    async def put(self, rows: Any, /, *, timeout_s: float | None = None) -> Any:
        """Create rows, or replace all that those say which are there."""
        return await self.do("Put", rows, timeout_s=timeout_s)

    async def delete(
        self,
        /,
        *key: Any,
        missing_ok: bool = False,
        expected_revision: int | None = None,
        timeout_s: float | None = None,
        **more: Any,
    ) -> Any:
        """Delete the row of a key, or the rows of a list of keys, or of rows.

        NOT_FOUND if there is none, unless `missing_ok`. `more` are other fields of what names a
        row, such as `cascade`.
        """
        write = self._write("Delete")
        one, many = _keys(key)
        items = [self._named(write.item, each) for each in ([one] if many is None else many)]
        for item in items:
            _set_fields(item, more)
            if write.has(MISSING_OK):
                item.missing_ok = missing_ok
            if expected_revision is not None:
                if not write.has(EXPECTED):
                    raise InvalidError(EXPECTED, f"a {self._binding.noun} has none to expect")
                item.expected_revision = expected_revision
        fields = write.command.DESCRIPTOR.fields_by_name
        like = write.command(missing_ok=missing_ok) if MISSING_OK in fields else None
        return await self._send(write, items, like, many is not None, timeout_s)

    @overload
    async def do(
        self, verb: str, item: Message | str | bytes, /, answer: type[A], **more: Unpack[DoOptions]
    ) -> A: ...
    @overload
    async def do(
        self, verb: str, item: Message | str | bytes, /, **more: Unpack[DoOptions]
    ) -> Message | None: ...
    @overload
    async def do(
        self,
        verb: str,
        items: Iterable[Message] | list[str] | list[bytes],
        /,
        **more: Unpack[DoOptions],
    ) -> BatchReply: ...
    async def do(
        self,
        verb: str,
        items: Any,
        /,
        answer: type[Message] | None = None,
        *,
        mask: FieldMask | None = None,
        like: Message | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        """Carry out any verb of the resource with one item or many.

        One is answered with what its verb answers, or None; `answer` is its type, where the caller
        relies on one. `like` is a command with what it says beside its items.
        """
        write = self._write(verb)
        one = isinstance(items, Message | str | bytes)
        given = [self._item(write, each, mask) for each in ([items] if one else items)]
        if mask is not None and write.masked:
            like = write.command(update_mask=mask)
        answered = await self._send(write, given, like, not one, timeout_s)
        if answer is None or isinstance(answered, answer):
            return answered
        if answered is None:
            return answer()
        raise TypeError(f"{verb} answers {type(answered).__name__}, not {answer.__name__}")

    @overload
    async def get(
        self,
        keys: list[Key] | list[str] | list[int] | list[tuple[str, ...]] | list[R],
        /,
        *,
        stale: bool = False,
        timeout_s: float | None = None,
        **more: Any,
    ) -> list[R | None]: ...
    @overload
    async def get(
        self,
        /,
        *key: str | int | tuple[str | int, ...] | Message,
        stale: bool = False,
        timeout_s: float | None = None,
        **more: Any,
    ) -> R | None: ...
    async def get(
        self, /, *key: Any, stale: bool = False, timeout_s: float | None = None, **more: Any
    ) -> Any:
        """Return the row of a key, or None; of a list of keys a list, in their order.

        With `stale` any replica answers, if the service has such reads. `more` are other fields of
        the request.
        """
        one, many = _keys(key)
        wanted = [one] if many is None else list(many)
        read = self._read("Get", many=True)
        named = self._inner(read)
        rows: Any = []
        for part in in_parts(wanted, self._resource.serving.lookups):
            if read.many:
                items = [self._named(named, each) for each in part]
                request: Any = read.request(**{read.many: items})
                _set_fields(request, more, stale=stale)
                found = await self._call(
                    read, request, part[0] if len(wanted) == 1 else None, timeout_s
                )
                rows += self._aligned(read, found, part)
            else:
                for each in part:
                    request = self._named(read.request, each)
                    _set_fields(request, more, stale=stale)
                    found = self._call(read, request, each, timeout_s)
                    rows.append(await or_none(found, self._resource.serving.missing))
        return rows if many is not None else rows[0]

    async def list(
        self, /, *, timeout_s: float | None = None, **conditions: Any
    ) -> AsyncGenerator[R, None]:
        """Yield the rows in the order of their keys; `conditions` are fields of the list request.

        Among them are the first parts of the key, `prefix`, and what rows must be equal to.
        """
        read = self._read("List")
        assert read.rows is not None
        request: Any = self._request(read, conditions)
        while True:
            page = await self._call(read, request, None, timeout_s)
            for row in getattr(page, read.rows.name):
                yield row
            if not getattr(page, TOKEN):
                return
            request.page_token = getattr(page, TOKEN)

    async def count(self, /, *, timeout_s: float | None = None, **conditions: Any) -> int:
        """Return how many rows there are under the same conditions."""
        if "Count" in self._binding.asked:
            read = self._read("Count")
            answer = await self._call(read, self._request(read, conditions), None, timeout_s)
            return int(getattr(answer, answer.DESCRIPTOR.fields[0].name))
        return sum([1 async for _ in self.list(timeout_s=timeout_s, **conditions)])

    async def watch(
        self, *leading: str | int, token: bytes = b"", changes_only: bool = False
    ) -> AsyncGenerator[RecordChange[R], None]:
        """Yield the current rows with keys that begin with these parts, and then every change."""
        changes = self._q.watch(
            self._resource.family,
            prefix=keys.pack(*leading),
            token=token,
            changes_only=changes_only,
        )
        parse = self._resource.row.FromString
        async for change in changes:
            gone = change.kind in (ChangeKind.DELETED, ChangeKind.RESYNC)
            yield RecordChange(
                kind=change.kind,
                key=keys.unpack(change.key),
                row=None if gone else parse(change.value),
                previous=parse(change.previous) if change.previous else None,
                revision=change.revision,
                token=change.token,
                reason=change.reason,
            )

    async def ask(
        self, method: str, request: Message, response: type[A], /, *, read: bool = True
    ) -> A:
        """Call a method of the service that is no verb, where one shard has the rows.

        It is not repeated after an unknown outcome unless it only reads.
        """
        resource = self._resource
        return await self._q.call(
            self._service + method,
            request,
            response,
            group=None if resource.shard_by else resource.group,
            shard_key=None if resource.shard_by else resource.storage.shard_key,
            read=read,
        )

    def _item_of(self, verb: str) -> type[Message] | None:
        """Return the message of an item of a verb; None: text or bytes."""
        return self._write(verb).item

    def _write(self, verb: str) -> Write:
        found = self._binding.writes.get(verb)
        if found is None:
            known = ", ".join(self._binding.writes) or "none"
            raise InvalidError("verb", f"{verb!r} is none of {self._binding.noun}: {known}")
        return found

    def _read(self, verb: str, *, many: bool = False) -> Read:
        found = self._binding.asked.get(verb, ())
        if not found:
            raise InvalidError("verb", f"{self._resource.service.name} has no method {verb}")
        return next((each for each in found if each.many or not many), found[0])

    def _item(self, write: Write, given: Any, mask: FieldMask | None) -> Any:
        """Return an item as the verb has it, of an item or of a row."""
        if write.item is None or isinstance(given, write.item):
            item = given
        else:
            item = write.item()
            for field, value in given.ListFields():
                if write.has(field.name):
                    set_field(item, field.name, value)
        if mask is not None and mask.paths and write.has(UPDATE_MASK):
            item.update_mask.CopyFrom(mask)
        return item

    def _named(self, kind: type[Message] | None, key: Any) -> Any:
        """Return the message or value that names a row, from its key or from the row itself."""
        parts = self._parts(key)
        if kind is None:
            return parts[0]
        holder = self._binding.holder_in(kind.DESCRIPTOR)
        fields: dict[str, Any] = dict(zip(self._binding.parts, parts, strict=True))
        return kind(**{holder: fields} if holder else fields)

    def _parts(self, key: Any) -> tuple[Any, ...]:
        names = self._resource.key
        if isinstance(key, Message):
            return tuple(attrgetter(name)(key) for name in names)
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) != len(names):
            raise InvalidError("key", f"is {', '.join(names)}, not {len(parts)} parts")
        return parts

    async def _send(
        self,
        write: Write,
        items: Sequence[Any],
        like: Message | None,
        many: bool,
        timeout_s: float | None,
    ) -> Any:
        if many and not items:
            return BatchReply()
        parts = [write.of(part, like) for part in parts_of(items)]
        by_hand = write.spec.admission.by_hand
        single = next((name for name, holder in write.singles.items() if not holder), None)
        if by_hand and single is not None and not many:
            kind: Any = self._resource.service.methods_by_name[single].output_type
            answer = await self._q.call(
                self._service + single, items[0], GetMessageClass(kind), timeout_s=timeout_s
            )
            return answer if isinstance(answer, self._answer) else None
        if by_hand:
            method = self._service + write.batches[0]
            reply = join_parts(
                [
                    await self._q.call(method, part, BatchReply, timeout_s=timeout_s)
                    for part in parts
                ]
            )
        elif len(parts) == 1:
            try:
                reply = await self._q.execute(parts[0], BatchReply, timeout_s=timeout_s)
            except InvalidError as error:
                if not many:
                    raise item_error(error) from None
                if len(items) > 1 or not names_item(error.field):
                    raise
                reply = BatchReply(items=1)
                reply.refusals.add(code=INVALID, message=str(error))
        else:
            reply = await self._q.execute_all(parts, timeout_s=timeout_s)
        if many:
            return reply
        for refusal in reply.refusals:
            raise RejectedError(refusal.code, refusal.message)
        answered = write.spec.item.reply or self._answer
        return answered.FromString(reply.replies[0]) if any(reply.replies) else None

    async def _call(self, read: Read, request: Any, key: Any, timeout_s: float | None) -> Any:
        """Ask the leader of the rows' shard, where one shard has them."""
        shard_key: bytes | None = None
        if not self._resource.shard_by:
            shard_key = self._resource.storage.shard_key
        elif key is not None:
            shard_key = self._binding.shard_of(keys.pack(*self._parts(key)))
        return await self._q.call(
            self._service + read.method,
            request,
            read.response,
            group=None if shard_key is None else self._resource.group,
            shard_key=shard_key,
            read=True,
            timeout_s=timeout_s,
        )

    def _inner(self, read: Read) -> type[Message] | None:
        """Return the type that names one row in a request for many; None: text."""
        if not read.many:
            return None
        kind: Any = read.request.DESCRIPTOR.fields_by_name[read.many].message_type
        return None if kind is None else GetMessageClass(kind)

    def _aligned(self, read: Read, found: Any, wanted: Sequence[Any]) -> Iterator[Any]:
        assert read.rows is not None
        rows = list(getattr(found, read.rows.name))
        kind = self._answer.DESCRIPTOR
        if read.rows.message_type is not kind:
            # One answer a name.
            name = inner_field(read.rows, kind).name
            yield from (getattr(each, name) if each.HasField(name) else None for each in rows)
            return
        row_of = self._row_of
        by_key = {self._binding.key_of(row_of(each)): each for each in rows}
        for each in wanted:
            yield by_key.get(keys.pack(*self._parts(each)))

    def _row_of(self, answer: Any) -> Any:
        if self._binding.keyed is self._answer:
            return answer
        kind = self._resource.row.DESCRIPTOR
        return next(value for field, value in answer.ListFields() if field.message_type is kind)

    def _request(self, read: Read, conditions: Mapping[str, Any]) -> Message:
        request = read.request()
        _set_fields(request, conditions)
        return request


class SyncRecords(Blocking[Records[R]], Generic[R]):
    """The same, without `await`."""

    create = blocking(Records.create)
    update = blocking(Records.update)
    put = blocking(Records.put)
    delete = blocking(Records.delete)
    do = blocking(Records.do)
    get = blocking(Records.get)
    list = iterating(Records.list)
    count = blocking(Records.count)
    ask = blocking(Records.ask)
    watch = iterating(Records.watch)


def _set_fields(request: Any, given: Mapping[str, Any], *, stale: bool = False) -> None:
    known = request.DESCRIPTOR.fields_by_name if isinstance(request, Message) else {}
    if stale:
        if "stale" not in known:
            raise InvalidError("stale", "there is no such read")
        request.stale = True
    for name in given:
        if name not in known:
            raise InvalidError(name, f"is none of {', '.join(known)}")
    if given:
        request.MergeFrom(type(request)(**given))


def _keys(given: tuple[Any, ...]) -> tuple[Any, list[Any] | None]:
    """Return the one key that was given, or the many."""
    if len(given) == 1 and not isinstance(given[0], str | int | tuple | Message):
        return None, list(given[0])
    return (given[0] if len(given) == 1 else given), None
