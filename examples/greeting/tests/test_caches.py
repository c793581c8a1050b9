from quorate_greeting.caches import Tallies
from quorate_greeting.families import TALLIES, tally_key
from quorate_greeting.v1.rows_pb2 import Tally


def put(cache: Tallies, salutation: str, greetings: int) -> None:
    tally = Tally(salutation=salutation, greetings=greetings)
    cache.put(TALLIES, tally_key(salutation), tally.SerializeToString(deterministic=True))


def test_the_cache_holds_the_newest_rows_in_order() -> None:
    cache = Tallies()
    for salutation, greetings in [("moin", 1), ("hello", 2), ("welcome", 3), ("moin", 4)]:
        put(cache, salutation, greetings)

    cache.delete(TALLIES, tally_key("welcome"))
    cache.delete(TALLIES, tally_key("oi"))

    listed = [(tally.salutation, tally.greetings) for tally in cache.in_order()]
    assert listed == [("hello", 2), ("moin", 4)]


def test_a_reset_forgets_everything() -> None:
    cache = Tallies()
    put(cache, "moin", 1)

    cache.reset()

    assert cache == Tallies()
