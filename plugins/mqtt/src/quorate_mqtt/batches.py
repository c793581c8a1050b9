"""Commands that hold many items in one repeated field, as every command of the plugin does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Command, Items, Rejected
from quorate.plugin.checking import check_each
from quorate.v1.batch_pb2 import BatchReply

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

    def of(self, items: Sequence[I], like: Message | None = None) -> Message:
        """Return the command that holds these items, and what else `like` holds."""
        command = self.message()
        if like is not None:
            for field, value in like.ListFields():
                if field.name != self.field:
                    getattr(command, field.name).CopyFrom(value)
        getattr(command, self.field).extend(items)
        return command

    def command(
        self,
        *,
        key: Callable[[I], bytes],
        examples: Sequence[Sequence[I]],
        shard_of: Callable[[bytes], bytes] | None = None,
        check: Callable[[I, str], None] | None = None,
        validate: Callable[[Message], None] | None = None,
        public: bool = False,
    ) -> Command[Any]:
        """Return the declaration: an item lies with the row of its key, and no key comes twice.

        Without `shard_of` a key is its own shard key. `check` refuses an item, and is told where it
        stands; `validate` refuses the whole command in its place.
        """

        def validate_each(command: Message) -> None:
            if check is not None:
                check_each(self.field, self.items(command), check)

        return Command(
            message=self.message,
            group=GROUP,
            items=Items(
                get=self.items,
                shard_key=key if shard_of is None else lambda item: shard_of(key(item)),
                make=lambda whole, items: self.of(items, whole),
                key=key,
            ),
            validate=validate or validate_each,
            public=public,
            examples=tuple(map(self.of, examples)),
        )


def only_reply(reply: BatchReply, kind: type[R]) -> R:
    """Return the answer to the one item of a batch; raise its refusal."""
    for refusal in reply.refusals:
        raise Rejected(refusal.code, refusal.message)
    return kind.FromString(reply.replies[0] if reply.replies else b"")
