from collections import Counter
from collections.abc import Mapping

from hypothesis import given, strategies as st
from quorate_connector.families import labels_of, of_labels
from quorate_connector.scheduling.plan import Fleet, even_out, place
from quorate_connector.v1.scheduling_pb2 import Candidate, Placeable
from quorate_connector.v1.tasks_pb2 import TaskId

FAST = of_labels([("disk", "fast")])
NORTH = of_labels([("zone", "north")])
BOTH = of_labels([("zone", "north"), ("disk", "fast")])


def fleet(**workers: bytes) -> Fleet:
    """Return workers with the labels of a kind each."""
    return Fleet(
        Candidate(worker=name, worker_epoch=1, labels=labels_of(kind), available=True)
        for name, kind in workers.items()
    )


def waiting(*preferred: str, kind: bytes = b"") -> dict[bytes, list[Placeable]]:
    tasks = [
        Placeable(task=TaskId(connector="c", number=number), preferred_worker=worker, kind=kind)
        for number, worker in enumerate(preferred)
    ]
    return {kind: tasks}


def placed(
    fleet: Fleet, loads: Mapping[str, int], tasks: dict[bytes, list[Placeable]]
) -> list[str]:
    found = {task.task.number: slot.worker for task, slot in place(fleet, Counter(loads), tasks)}
    return [found[number] for number in sorted(found)]


def test_tasks_go_to_who_has_least_and_then_by_name() -> None:
    found = placed(fleet(b=b"", a=b"", c=b""), {"c": 1}, waiting("", "", ""))

    assert Counter(found) == {"a": 2, "b": 1}


def test_tasks_come_back_to_who_had_them() -> None:
    tasks = waiting("b", "b", "a")

    assert placed(fleet(a=b"", b=b""), {"a": 1}, tasks) == ["b", "b", "a"]


def test_nobody_gets_more_back_than_is_even() -> None:
    assert Counter(placed(fleet(a=b"", b=b""), {}, waiting(*"aaaa"))) == {"a": 2, "b": 2}


def test_one_more_stays_with_who_had_more() -> None:
    assert Counter(placed(fleet(a=b"", b=b""), {}, waiting(*"bbb"))) == {"a": 1, "b": 2}


def test_who_is_not_there_gets_nothing_back() -> None:
    assert placed(fleet(a=b""), {}, waiting("gone")) == ["a"]


def test_labels_must_be_there_all_of_them() -> None:
    workers = fleet(a=FAST, b=NORTH, c=BOTH)

    assert [*workers.eligible(BOTH)] == ["c"]
    assert [*workers.eligible(FAST)] == ["a", "c"]
    assert [*workers.eligible(b"")] == ["a", "b", "c"]
    assert placed(workers, {"c": 9}, waiting("", kind=BOTH)) == ["c"]
    assert placed(fleet(a=FAST), {}, waiting("", kind=BOTH)) == []


def test_who_can_have_few_kinds_is_filled_with_those_first() -> None:
    tasks = waiting("", "", kind=b"") | waiting("", "", kind=FAST)

    found = Counter(slot.worker for _, slot in place(fleet(a=FAST, b=b""), Counter(), tasks))

    assert found == {"a": 2, "b": 2}


def test_nothing_moves_among_even_workers() -> None:
    shares = {"a": Counter({b"": 3}), "b": Counter({b"": 2})}

    assert even_out(fleet(a=b"", b=b""), shares, 10) == {}


def test_a_new_worker_gets_its_part_and_no_more() -> None:
    shares = {"a": Counter({b"": 5}), "b": Counter({b"": 4}), "c": Counter[bytes]()}

    moves = even_out(fleet(a=b"", b=b"", c=b""), shares, 10)

    assert moves == {"a": {b"": 2}, "b": {b"": 1}}


def test_no_more_move_than_may() -> None:
    shares = {"a": Counter({b"": 9}), "b": Counter[bytes]()}

    assert even_out(fleet(a=b"", b=b""), shares, 2) == {"a": {b"": 2}}
    assert even_out(fleet(a=b"", b=b""), shares, 0) == {}


def test_what_only_one_can_have_stays() -> None:
    shares = {"a": Counter({FAST: 9}), "b": Counter({b"": 1})}

    assert even_out(fleet(a=FAST, b=b""), shares, 9) == {}


def test_others_leave_who_alone_can_have_much() -> None:
    shares = {"a": Counter({FAST: 5, b"": 3}), "b": Counter({b"": 1})}

    moves = even_out(fleet(a=FAST, b=b""), shares, 9)

    assert moves == {"a": {b"": 3}}


@given(
    st.lists(st.sampled_from([b"", FAST, NORTH, BOTH]), min_size=1, max_size=6),
    st.dictionaries(
        st.sampled_from([b"", FAST, NORTH, BOTH]), st.lists(st.sampled_from("abcdefz"), max_size=30)
    ),
)
def test_whatever_waits_is_placed_and_soon_even(
    workers: list[bytes], kinds: dict[bytes, list[str]]
) -> None:
    there = fleet(**dict(zip("abcdef", workers, strict=False)))
    tasks = {kind: waiting(*preferred, kind=kind)[kind] for kind, preferred in kinds.items()}
    shares = {worker: Counter[bytes]() for worker in there.eligible(b"")}
    for task, slot in place(there, Counter(), tasks):
        assert labels_of(task.kind).issubset(slot.labels)
        shares[slot.worker][task.kind] += 1
    for kind, preferred in kinds.items():
        held = sum(share[kind] for share in shares.values())
        assert held == (len(preferred) if there.eligible(kind) else 0)

    for _ in range(200):
        moves = even_out(there, shares, 1)
        if not moves:
            break
        [(worker, moved)] = moves.items()
        [kind] = moved.elements()
        shares[worker][kind] -= 1
        loads = Counter({worker: share.total() for worker, share in shares.items()})
        [(_, slot)] = place(there, loads, waiting("", kind=kind))
        assert slot.worker != worker
        shares[slot.worker][kind] += 1
    else:
        raise AssertionError(f"it never comes to rest: {shares}")

    for kind in kinds:
        for full in there.eligible(kind):
            if shares[full][kind]:
                others = [shares[each].total() for each in there.eligible(kind)]
                assert shares[full].total() - min(others) <= 1
