"""The work of leaders: the timer of the greetings, and the controller that counts them."""

from collections import Counter
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Controller, NodeApi, ShardRef, Timer

from quorate_greeting import families
from quorate_greeting.caches import Tallies
from quorate_greeting.config import GreetingConfig
from quorate_greeting.v1.commands_pb2 import ExpireGreetingsCommand, RecordTallyCommand
from quorate_greeting.v1.queries_pb2 import CountGreetingsQuery, SalutationCount


async def keep_tallies(node: NodeApi, shard: ShardRef) -> None:
    """Update the stored tallies to the greetings of all shards."""
    counted: Counter[str] = Counter()
    async for count in node.query(CountGreetingsQuery(), SalutationCount):
        counted[count.salutation] += count.greetings
    stored = {tally.salutation: tally.greetings for tally in node.cache(Tallies).in_order()}
    for salutation in sorted(counted.keys() | stored.keys()):
        if counted[salutation] != stored.get(salutation, 0):
            command = RecordTallyCommand(salutation=salutation, greetings=counted[salutation])
            await node.propose(command, Empty, if_leader=shard)


EXPIRY: Final = Timer(
    name=families.EXPIRY,
    group=families.GROUP,
    due=lambda keys: ExpireGreetingsCommand(keys=keys),
)

TALLY_KEEPING: Final = Controller(
    name="greeting.tally_keeping",
    group=families.GROUP,
    run_once=keep_tallies,
    interval_s=lambda node: node.config(GreetingConfig).tally_interval_s,
)
