"""Commands that hold many items in one repeated field, as every command of the plugin does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Command, Invalid, Items, NodeApi, Rejected
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal

from quorate_mqtt.names import check_each
from quorate_mqtt.shards import GROUP

I = TypeVar("I")  # noqa: E741 - the item of a batch, named as in the plugin reference
R = TypeVar("R", bound=Message)


@dataclass(frozen=True, kw_only=True)
class Batch(Generic[I]):
    """A command and the field of its items."""

    message: type[Message]
    field: str

    def items(self, command: Message) -> Sequence[I]:
        """Return the items of a command; each is made anew when it is asked for."""
        items: Sequence[I] = getattr(command, self.field)
        return items

    def of(self, items: Sequence[I]) -> Message:
        """Return the command that holds these items."""
        command = self.message()
        getattr(command, self.field).extend(items)
        return command

    def command(
        self,
        *,
        key: Callable[[I], bytes],
        examples: Sequence[Sequence[I]],
        shard_of: Callable[[bytes], bytes] | None = None,
        check: Callable[[I, str], None] | None = None,
        public: bool = False,
    ) -> Command[Any]:
        """Return the declaration: an item lies with the row of its key, and no key comes twice.

        Without `shard_of` a key is its own shard key. `check` refuses an item, and is told where it
        stands.
        """

        def validate(command: Message) -> None:
            if check is not None:
                check_each(self.field, self.items(command), check)

        return Command(
            message=self.message,
            group=GROUP,
            items=Items(
                get=self.items,
                shard_key=key if shard_of is None else lambda item: shard_of(key(item)),
                make=lambda _, items: self.of(items),
                key=key,
            ),
            validate=validate,
            public=public,
            examples=tuple(map(self.of, examples)),
        )


@dataclass(frozen=True, kw_only=True)
class Sifted(Generic[I]):
    """The items of a request that can be carried out, and why the others cannot."""

    total: int
    #: By its position in the request.
    good: dict[int, I]
    refusals: dict[int, tuple[str, str]]

    def joined(self, reply: BatchReply) -> BatchReply:
        """Return the answer to the whole request; `reply` answers what could be carried out."""
        positions = list(self.good)
        refusals = dict(self.refusals)
        for each in reply.refusals:
            refusals[positions[each.item]] = (each.code, each.message)
        replies = dict(zip(positions, reply.replies, strict=False))
        return BatchReply(
            items=self.total,
            replies=[replies.get(position, b"") for position in range(self.total)],
            refusals=[
                ItemRefusal(item=position, code=code, message=message)
                for position, (code, message) in sorted(refusals.items())
            ],
            revisions=reply.revisions,
        )


def sift(field: str, items: Sequence[I], check: Callable[[I, str], None]) -> Sifted[I]:
    """Tell apart what is wrong in itself; raises `Invalid` when there is nothing at all."""
    if not items:
        raise Invalid(field, "must not be empty")
    sifted = Sifted[I](total=len(items), good={}, refusals={})
    for position, item in enumerate(items):
        try:
            check(item, f"{field}[{position}].")
        except Invalid as invalid:
            sifted.refusals[position] = ("INVALID_ARGUMENT", str(invalid))
        else:
            sifted.good[position] = item
    return sifted


async def propose_good(
    node: NodeApi, batch: Batch[I], command: Message, check: Callable[[I, str], None]
) -> BatchReply:
    """Propose what is right in itself, and answer every item in its place."""
    sifted = sift(batch.field, batch.items(command), check)
    if not sifted.refusals:
        return await node.propose(command, BatchReply)
    if not sifted.good:
        return sifted.joined(BatchReply())
    good = batch.of(list(sifted.good.values()))
    return sifted.joined(await node.propose(good, BatchReply))


def only_reply(reply: BatchReply, kind: type[R]) -> R:
    """Return the answer to the one item of a batch; raise its refusal."""
    for refusal in reply.refusals:
        raise Rejected(refusal.code, refusal.message)
    return kind.FromString(reply.replies[0] if reply.replies else b"")
