"""The words for changing and reading greetings: all that a client needs to know of the plugin."""

from typing import Any, Final

from quorate.plugin import Access, Command, Items, Query
from quorate.plugin.advanced import constant_key

from quorate_greeting import apply, queries
from quorate_greeting.families import GROUP, greeting_key, greeting_shard, town_shard
from quorate_greeting.v1.commands_pb2 import (
    ExpireGreetingsCommand,
    ForgetCommand,
    RecordTallyCommand,
    SayHelloBatchCommand,
    SayHelloCommand,
)
from quorate_greeting.v1.queries_pb2 import CountGreetingsQuery, ListGreetingsQuery
from quorate_greeting.validation import check_forget, check_hello, check_hellos

_ADA: Final = SayHelloCommand(town="oslo", name="ada", salutation="hello", ttl_ms=60_000)
_BEN: Final = SayHelloCommand(town="bern", name="ben", salutation="moin", ttl_ms=60_000)

SAY_HELLO: Final = Command(
    message=SayHelloCommand,
    group=GROUP,
    apply=apply.say_hello,
    shard_key=lambda command: town_shard(command.town),
    validate=check_hello,
    public=True,
    access=Access(right="write", key="town"),
    examples=(_ADA,),
)

SAY_HELLO_BATCH: Final = Command(
    message=SayHelloBatchCommand,
    group=GROUP,
    apply=apply.say_hello_batch,
    items=Items.of(
        "hellos",
        shard_key=lambda hello: town_shard(hello.town),
        key=lambda hello: greeting_key(hello.town, hello.name),
    ),
    validate=check_hellos,
    public=True,
    access=Access(right="write", key="town"),
    examples=(SayHelloBatchCommand(hellos=[_BEN, _ADA]),),
)

FORGET: Final = Command(
    message=ForgetCommand,
    group=GROUP,
    apply=apply.forget,
    shard_key=lambda command: town_shard(command.town),
    validate=check_forget,
    public=True,
    access=Access(right="write", key="town"),
    examples=(ForgetCommand(town="oslo", name="ada"),),
)

EXPIRE_GREETINGS: Final = Command(
    message=ExpireGreetingsCommand,
    group=GROUP,
    apply=apply.expire_greetings,
    items=Items.of("keys", shard_key=greeting_shard, key=lambda key: key),
    examples=(ExpireGreetingsCommand(keys=[greeting_key("oslo", "ada")]),),
)

RECORD_TALLY: Final = Command(
    message=RecordTallyCommand,
    group=GROUP,
    apply=apply.record_tally,
    shard_key=constant_key,
    examples=(
        RecordTallyCommand(salutation="hello", greetings=2),
        RecordTallyCommand(salutation="hello"),
    ),
)

LIST_GREETINGS: Final = Query(
    message=ListGreetingsQuery,
    group=GROUP,
    run=queries.list_greetings,
    shard_key=lambda query: town_shard(query.town),
)

COUNT_GREETINGS: Final = Query(
    message=CountGreetingsQuery,
    group=GROUP,
    run=queries.count_greetings,
    order=queries.count_order,
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    SAY_HELLO,
    SAY_HELLO_BATCH,
    FORGET,
    EXPIRE_GREETINGS,
    RECORD_TALLY,
)
QUERIES: Final[tuple[Query[Any], ...]] = (LIST_GREETINGS, COUNT_GREETINGS)
