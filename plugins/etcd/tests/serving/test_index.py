from random import Random
from typing import Any, cast

import pytest
from quorate_etcd.serving import spans
from quorate_etcd.serving.index import Index
from quorate_etcd.serving.streams import Stream, Watcher
from quorate_etcd.wire import rpc_pb2 as rpc

_BYTES = [b"\0", b"a", b"b", b"\xfe", b"\xff"]


def some(random: Random, least: int = 1) -> bytes:
    return b"".join(random.choices(_BYTES, k=random.randint(least, 3)))


@pytest.mark.parametrize("seed", range(10))
def test_it_finds_what_a_scan_finds(seed: int) -> None:
    random, index = Random(seed), Index()
    watchers: list[Watcher] = []
    for number in range(120):
        start = some(random)
        # One key, a prefix, everything from a key on, or any other range.
        prefix = start[:-1] + bytes([start[-1] + 1]) if start[-1] < 0xFF else b"\0"
        end = random.choice((b"", prefix, b"\0", some(random)))
        request = rpc.WatchCreateRequest(key=start, range_end=end)
        watcher = Watcher(cast("Stream", None), number, request)
        if not watcher.span.empty:
            watchers.append(watcher)
            index.add(watcher)
        if watchers and random.random() < 0.3:
            index.remove(watchers.pop(random.randrange(len(watchers))))
        key = some(random)
        found = sorted(each.number for each in index.matching(key))
        assert found == [each.number for each in watchers if each.span.holds(key)]
    assert sorted(each.number for each in index.all()) == [each.number for each in watchers]


@pytest.mark.parametrize(
    ("start", "end"),
    [(b"/%05d/", b"/%05d0"), (b"/%05d/", b"/%05d/z"), (b"/%05d/k", b"/%05d/l")],
)
def test_a_change_looks_at_few_of_many_ranges(
    start: bytes, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index()
    numbers = list(range(10_000))
    # Whatever order they come in.
    for number in sorted(numbers) if start.endswith(b"k") else Random(1).sample(numbers, 10_000):
        request = rpc.WatchCreateRequest(key=start % number, range_end=end % number)
        index.add(Watcher(cast("Any", None), number, request))
    looked = 0
    most: Any = vars(spans._Part)["most"]

    def look(part: Any) -> Any:
        nonlocal looked
        looked += 1
        return most.__get__(part)

    monkeypatch.setattr(spans._Part, "most", property(look, most.__set__))
    assert [each.number for each in index.matching(b"/00042/key")] == [42]
    assert looked < 300
