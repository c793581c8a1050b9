"""What is said of a load while it runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from quorate.client import OutcomeUnknownError
from quorate.testing.waiting import until
from quorate_spark.client import Loads
from quorate_spark.source import progress
from quorate_spark.source.progress import Progress, followed, logged
from quorate_spark.v1.queries_pb2 import LoadView
from quorate_spark.v1.rows_pb2 import Load

#: No test asks it anything.
CLIENT = object()


def view(rows: int, partitions_finished: int = 0) -> LoadView:
    return LoadView(
        load=Load(load_id="one", state=Load.LOADING),
        rows=rows,
        row_bytes=3 << 19,
        partitions=4,
        partitions_finished=partitions_finished,
    )


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[LoadView | Exception | None]:
    """What the cluster answers; the last one again and again."""
    given: list[LoadView | Exception | None] = []

    def get(loads: Loads, load_id: str) -> LoadView | None:
        assert load_id == "one"
        answer = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(Loads, "get", get)
    return given


def test_a_line_has_rows_their_rate_bytes_and_ended_partitions() -> None:
    said = str(Progress(load=view(1_234_567, 3), rows_per_s=60_000.4))
    assert said == (
        "load one is loading: 1,234,567 rows (60,000 rows/s), 1.5 MiB,"
        " 3 of 4 partitions begun have ended"
    )
    assert "rows/s" not in str(Progress(load=view(0)))


def test_the_rate_is_that_since_the_last_look(
    answers: list[LoadView | Exception | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # It does not exist yet, and the cluster was away for a while.
    answers += [None, view(0), view(500), OutcomeUnknownError("away"), view(2_000)]
    clock: Iterator[float] = iter([1.0, 3.0, 8.0])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    following = followed(CLIENT, "one", every_s=0.0)  # type: ignore[arg-type]
    found = [next(following) for _ in range(3)]
    assert [each.rows_per_s for each in found] == [None, 250.0, 300.0]


def test_a_program_logs_progress_while_its_job_runs(
    answers: list[LoadView | Exception | None], caplog: pytest.LogCaptureFixture
) -> None:
    answers += [view(10), view(20, 3)]
    with (
        caplog.at_level(logging.INFO, "quorate.spark"),
        logged(CLIENT, "one", every_s=0.01),  # type: ignore[arg-type]
    ):
        until(lambda: True if "3 of 4 partitions" in caplog.text else None)
        answers[:] = [view(30, 4)]
    assert {(each.name, each.levelname) for each in caplog.records} == {("quorate.spark", "INFO")}
    assert "30 rows" in caplog.messages[-1]


def test_a_job_that_is_too_short_for_a_look_has_one_line(
    answers: list[LoadView | Exception | None], caplog: pytest.LogCaptureFixture
) -> None:
    answers += [None, view(30, 4)]
    with (
        caplog.at_level(logging.INFO, "quorate.spark"),
        logged(CLIENT, "one", every_s=3_600.0),  # type: ignore[arg-type]
    ):
        until(lambda: True if len(answers) == 1 else None)
    assert len(caplog.messages) == 1
