import pytest
from quorate.testing import MemoryTxn
from quorate_greeting import queries
from quorate_greeting.apply import say_hello
from quorate_greeting.v1.commands_pb2 import SayHelloCommand
from quorate_greeting.v1.queries_pb2 import CountGreetingsQuery, ListGreetingsQuery

PEOPLE = [("bern", "ada"), ("oslo", "ada"), ("oslo", "adam"), ("oslo", "ben"), ("oslos", "adele")]


@pytest.fixture
def shard() -> MemoryTxn:
    txn = MemoryTxn(plugin="greeting")
    for town, name in PEOPLE:
        salutation = "moin" if name == "ben" else "hello"
        say_hello(txn, SayHelloCommand(town=town, name=name, salutation=salutation, ttl_ms=1))
    return txn


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (ListGreetingsQuery(town="oslo"), ["ada", "adam", "ben"]),
        (ListGreetingsQuery(town="oslo", name_prefix="ad"), ["ada", "adam"]),
        (ListGreetingsQuery(town="oslo", limit=2), ["ada", "adam"]),
        (ListGreetingsQuery(town="oslo", after_name="ada"), ["adam", "ben"]),
        (ListGreetingsQuery(town="oslo", name_prefix="ad", after_name="adam"), []),
        (ListGreetingsQuery(town="oslo", name_prefix="ad", after_name="zoe"), []),
        (ListGreetingsQuery(town="oslo", name_prefix="b", after_name="a"), ["ben"]),
        (ListGreetingsQuery(town="rome"), []),
    ],
)
def test_a_list_holds_one_towns_people_in_order(
    shard: MemoryTxn, query: ListGreetingsQuery, names: list[str]
) -> None:
    assert [greeting.name for greeting in queries.list_greetings(shard, query)] == names


@pytest.mark.parametrize("chunk", [1, 2, 5, 1_000])
def test_a_count_reads_chunk_by_chunk(
    shard: MemoryTxn, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "CHUNK", chunk)

    counts = list(queries.count_greetings(shard, CountGreetingsQuery()))

    assert [(count.salutation, count.greetings) for count in counts] == [("hello", 4), ("moin", 1)]
    assert counts == sorted(counts, key=queries.count_order)
