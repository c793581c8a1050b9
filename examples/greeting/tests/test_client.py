from asyncio import run
from collections.abc import Iterator

import pytest
from quorate.client import ChangeKind, Client, RejectedError, connect
from quorate.testing.cluster import Cluster
from quorate_greeting.client import Greetings, SyncGreetings
from quorate_greeting.families import GREETINGS, town_shard
from quorate_greeting.v1.rows_pb2 import Greeting


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("greeting"), nodes=1, plugins=["greeting"]) as cluster:
        yield cluster.ready()


def test_people_are_greeted_listed_and_forgotten(cluster: Cluster) -> None:
    async def greet() -> None:
        async with connect(cluster.endpoints) as q:
            greetings = Greetings(q)

            assert await greetings.say_hello("oslo", "ada", salutation="moin") == "Moin, ada!"
            assert await greetings.say_hello("oslo", "ben") == "Hello, ben!"
            assert [each.name async for each in greetings.list("oslo")] == ["ada", "ben"]
            await greetings.forget("oslo", "ada")
            assert [each.name async for each in greetings.list("oslo")] == ["ben"]
            with pytest.raises(RejectedError, match="NOT_FOUND"):
                await greetings.forget("oslo", "ada")

    run(greet())


def test_the_twin_does_the_same(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        greetings = SyncGreetings(q)
        greetings.say_hello("bern", "cem")
        assert [each.name for each in greetings.list("bern", name_prefix="c")] == ["cem"]

        for change in q.watch(GREETINGS, prefix=town_shard("bern")):
            assert change.kind is ChangeKind.ROW
            assert Greeting.FromString(change.value).name == "cem"
            break
