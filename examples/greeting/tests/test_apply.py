import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryTxn
from quorate_greeting.apply import (
    MOST_HELLOS,
    expire_greetings,
    forget,
    record_tally,
    say_hello,
    say_hello_batch,
)
from quorate_greeting.families import EXPIRY, GREETINGS, TALLIES, greeting_key, tally_key
from quorate_greeting.v1.commands_pb2 import (
    ExpireGreetingsCommand,
    ForgetCommand,
    RecordTallyCommand,
    SayHelloBatchCommand,
    SayHelloCommand,
)
from quorate_greeting.v1.rows_pb2 import Greeting, Tally

ADA = greeting_key("oslo", "ada")


def hello(name: str = "ada", salutation: str = "hello", ttl_ms: int = 500) -> SayHelloCommand:
    return SayHelloCommand(town="oslo", name=name, salutation=salutation, ttl_ms=ttl_ms)


def test_a_hello_stores_a_greeting_that_wears_off() -> None:
    txn = MemoryTxn(at_ms=1_000, plugin="greeting")

    greeting = say_hello(txn, hello())

    assert greeting == Greeting(
        town="oslo", name="ada", salutation="hello", times=1, said_at_ms=1_000, expires_at_ms=1_500
    )
    assert Greeting.FromString(txn.rows(GREETINGS)[ADA]) == greeting
    assert txn.deadlines == {(EXPIRY, ADA): 1_500}


def test_another_hello_counts_and_lasts_anew() -> None:
    first = MemoryTxn(at_ms=1_000, plugin="greeting")
    say_hello(first, hello())
    second = first.then(at_ms=1_200)

    greeting = say_hello(second, hello(salutation="moin"))

    assert (greeting.times, greeting.salutation) == (2, "moin")
    assert second.deadlines == {(EXPIRY, ADA): 1_700}


def test_who_heard_too_many_hellos_is_tired() -> None:
    txn = MemoryTxn(plugin="greeting")
    for _ in range(MOST_HELLOS):
        say_hello(txn, hello())
    before = txn.rows(GREETINGS)

    with pytest.raises(Rejected) as refusal:
        say_hello(txn, hello())

    assert refusal.value.code == "TIRED"
    assert refusal.value.message == "ada of oslo has heard 3 hellos"
    assert txn.rows(GREETINGS) == before


def test_a_batch_greets_all_but_the_tired() -> None:
    txn = MemoryTxn(plugin="greeting")
    for _ in range(MOST_HELLOS):
        say_hello(txn, hello("ben"))
    hellos = [hello("ada"), hello("ben"), hello("cleo")]

    reply = say_hello_batch(txn, SayHelloBatchCommand(hellos=hellos))

    assert reply.items == 3
    assert [(refusal.item, refusal.code) for refusal in reply.refusals] == [(1, "TIRED")]
    names = [Greeting.FromString(greeting).name for greeting in reply.replies]
    assert names == ["ada", "", "cleo"]
    assert list(txn.rows(GREETINGS)) == [greeting_key("oslo", n) for n in ("ada", "ben", "cleo")]


def test_the_forgotten_are_greeted_as_if_for_the_first_time() -> None:
    txn = MemoryTxn(plugin="greeting")
    say_hello(txn, hello())

    forget(txn, ForgetCommand(town="oslo", name="ada"))

    assert txn.rows(GREETINGS) == {}
    assert txn.deadlines == {}
    assert say_hello(txn, hello()).times == 1


def test_nobody_is_forgotten_who_was_not_greeted() -> None:
    txn = MemoryTxn(plugin="greeting")

    with pytest.raises(Rejected) as refusal:
        forget(txn, ForgetCommand(town="oslo", name="ada"))

    assert refusal.value.code == "NOT_FOUND"
    assert txn.events == []


def test_greetings_expire_only_when_their_deadline_has_come() -> None:
    txn = MemoryTxn(at_ms=1_000, plugin="greeting")
    say_hello(txn, hello("ada", ttl_ms=500))
    say_hello(txn, hello("ben", ttl_ms=501))
    due = txn.then(at_ms=1_500)
    ben, stranger = greeting_key("oslo", "ben"), greeting_key("oslo", "cleo")

    reply = expire_greetings(due, ExpireGreetingsCommand(keys=[ADA, ben, stranger]))

    assert reply.items == 3
    assert list(due.rows(GREETINGS)) == [ben]
    assert due.deadlines == {(EXPIRY, ben): 1_501}


def test_a_tally_is_kept_until_it_is_zero() -> None:
    txn = MemoryTxn(plugin="greeting")

    record_tally(txn, RecordTallyCommand(salutation="moin", greetings=2))
    kept = txn.rows(TALLIES)
    record_tally(txn, RecordTallyCommand(salutation="moin"))

    tally = Tally(salutation="moin", greetings=2)
    assert kept == {tally_key("moin"): tally.SerializeToString(deterministic=True)}
    assert txn.rows(TALLIES) == {}
