from asyncio import run

from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate_greeting.families import greeting_key, greeting_shard
from quorate_greeting.v1.commands_pb2 import ForgetCommand, SayHelloBatchCommand, SayHelloCommand
from quorate_greeting.v1.queries_pb2 import ListGreetingsQuery
from quorate_greeting.vocabulary import (
    EXPIRE_GREETINGS,
    FORGET,
    LIST_GREETINGS,
    SAY_HELLO,
    SAY_HELLO_BATCH,
)

HELLO = SayHelloCommand(town="oslo", name="ada", salutation="hello", ttl_ms=1)


def test_whatever_concerns_a_town_goes_to_its_shard() -> None:
    assert SAY_HELLO.shard_key is not None
    assert SAY_HELLO_BATCH.items is not None
    assert FORGET.shard_key is not None
    assert EXPIRE_GREETINGS.items is not None
    assert LIST_GREETINGS.shard_key is not None
    key = greeting_key("oslo", "ada")

    found = {
        SAY_HELLO.shard_key(HELLO),
        SAY_HELLO_BATCH.items.shard_key(HELLO),
        FORGET.shard_key(ForgetCommand(town="oslo", name="ada")),
        EXPIRE_GREETINGS.items.shard_key(key),
        LIST_GREETINGS.shard_key(ListGreetingsQuery(town="oslo")),
    }

    assert found == {greeting_shard(key)}


def test_a_batch_greets_nobody_twice() -> None:
    node = MemoryNode(["greeting"])

    reply = run(node.propose(SayHelloBatchCommand(hellos=[HELLO, HELLO]), BatchReply))

    assert [(each.item, each.code) for each in reply.refusals] == [(1, "INVALID_ARGUMENT")]
