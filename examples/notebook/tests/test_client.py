"""Notes in a cluster, through the client."""

from asyncio import run
from collections.abc import Iterator

import pytest
from quorate.client import ChangeKind, connect
from quorate.testing.cluster import Cluster
from quorate_notebook.notes import NOTES
from quorate_notebook.v1.notes_pb2 import NOTE_COLOR_GREEN, Note


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("notebook"), nodes=1, plugins=["notebook"]) as cluster:
        yield cluster.ready()


def test_notes_are_kept_by_a_cluster(cluster: Cluster) -> None:
    async def keep_notes() -> None:
        async with connect(cluster.endpoints) as q:
            notes = q.records(NOTES)

            milk = await notes.create(Note(name="milk", text="two", color=NOTE_COLOR_GREEN))
            reply = await notes.put([milk, Note(name="bread", text="one loaf")])
            assert not reply.refusals
            assert [each.name async for each in notes.list()] == ["bread", "milk"]
            assert [each.name async for each in notes.list(color=NOTE_COLOR_GREEN)] == ["milk"]
            await notes.delete("bread")
            assert await notes.get(["bread", "milk"]) == [None, await notes.get("milk")]

    run(keep_notes())


def test_notes_are_watched(cluster: Cluster) -> None:
    async def watch() -> list[tuple[ChangeKind, str, str]]:
        seen = []
        async with connect(cluster.endpoints) as q:
            notes = q.records(NOTES)
            await notes.put(Note(name="tea", text="green"))
            async for change in notes.watch("tea"):
                text = change.row.text if change.row else ""
                seen.append((change.kind, str(change.key[0]), text))
                if len(seen) == 1:
                    await notes.update(Note(name="tea", text="black"))
                if len(seen) == 2:
                    await notes.delete("tea")
                if len(seen) == 3:
                    break
        return seen

    assert run(watch()) == [
        (ChangeKind.ROW, "tea", "green"),
        (ChangeKind.PUT, "tea", "black"),
        (ChangeKind.DELETED, "tea", ""),
    ]
