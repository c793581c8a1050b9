"""The handlers: pure functions of a transaction and a command, run once, on the leader."""

from typing import Final

from quorate.plugin import Rejected, Txn
from quorate.plugin.advanced import answer_each, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_greeting.families import EXPIRY, GREETINGS, TALLIES, greeting_key, tally_key
from quorate_greeting.v1.commands_pb2 import (
    ExpireGreetingsCommand,
    ForgetCommand,
    RecordTallyCommand,
    SayHelloBatchCommand,
    SayHelloCommand,
)
from quorate_greeting.v1.rows_pb2 import Greeting, Tally

#: A person with this many hellos gets no more until the greeting expires.
MOST_HELLOS: Final = 3


def say_hello(txn: Txn, command: SayHelloCommand) -> Greeting:
    """Greet a person; the greeting lasts anew from now on."""
    key = greeting_key(command.town, command.name)
    times = Greeting.FromString(txn.get(GREETINGS, key) or b"").times
    if times >= MOST_HELLOS:
        raise Rejected("TIRED", f"{command.name} of {command.town} has heard {times} hellos")
    greeting = Greeting(
        town=command.town,
        name=command.name,
        salutation=command.salutation,
        times=times + 1,
        said_at_ms=txn.proposed_at_ms,
        expires_at_ms=txn.proposed_at_ms + command.ttl_ms,
    )
    txn.put(GREETINGS, key, greeting.SerializeToString(deterministic=True))
    txn.schedule(EXPIRY, key, greeting.expires_at_ms)
    return greeting


def say_hello_batch(txn: Txn, command: SayHelloBatchCommand) -> BatchReply:
    """Greet many people; the reply lists the refused greetings."""
    return answer_each(txn, command.hellos, say_hello)


def forget(txn: Txn, command: ForgetCommand) -> None:
    """Forget a person: the next greeting counts as the first."""
    key = greeting_key(command.town, command.name)
    if txn.get(GREETINGS, key) is None:
        raise Rejected("NOT_FOUND", f"{command.name} of {command.town} has not been greeted")
    txn.delete(GREETINGS, key)
    txn.schedule(EXPIRY, key, None)


def expire_greetings(txn: Txn, command: ExpireGreetingsCommand) -> BatchReply:
    """Forget the people whose deadline has passed: a hello may have moved it since."""
    for key in still_due(txn, EXPIRY, command.keys):
        txn.delete(GREETINGS, key)
        txn.schedule(EXPIRY, key, None)
    return BatchReply(items=len(command.keys))


def record_tally(txn: Txn, command: RecordTallyCommand) -> None:
    """Store a tally of the controller; delete one of zero."""
    key = tally_key(command.salutation)
    if command.greetings == 0:
        txn.delete(TALLIES, key)
        return
    tally = Tally(salutation=command.salutation, greetings=command.greetings)
    txn.put(TALLIES, key, tally.SerializeToString(deterministic=True))
