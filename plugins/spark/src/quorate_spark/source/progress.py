"""The progress of a load, for the program that runs the job and for its observers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Final

from quorate.client import Client, QuorateError

from quorate_spark.client import Loads
from quorate_spark.v1.queries_pb2 import LoadView
from quorate_spark.v1.rows_pb2 import Load

EVERY_S: Final = 5.0
_MIB: Final = 1 << 20
_log: Final = logging.getLogger("quorate.spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a load has come."""

    load: LoadView
    #: Since it was last looked at; None at the first look.
    rows_per_s: float | None = None

    def __str__(self) -> str:
        load = self.load
        rate = "" if self.rows_per_s is None else f" ({self.rows_per_s:,.0f} rows/s)"
        return (
            f"load {load.load.load_id} is {Load.State.Name(load.load.state).lower()}: {load.rows:,}"
            f" rows{rate}, {load.row_bytes / _MIB:,.1f} MiB, {load.partitions_finished} of"
            f" {load.partitions} partitions begun have ended"
        )


def followed(
    client: Client,
    load_id: str,
    *,
    every_s: float = EVERY_S,
    ended: threading.Event | None = None,
) -> Iterator[Progress]:
    """Yield the progress of a load every few seconds, and once more when `ended` is set.

    Nothing is yielded while the load does not exist, or no node answers.
    """
    ended = ended or threading.Event()
    last_s, last_rows = 0.0, 0
    while True:
        is_last = ended.is_set()
        try:
            load = Loads(client).get(load_id)
        except QuorateError:
            load = None
        if load is not None:
            now_s = monotonic()
            rate = (load.rows - last_rows) / (now_s - last_s) if last_s else None
            yield Progress(load=load, rows_per_s=rate)
            last_s, last_rows = now_s, load.rows
        if is_last:
            return
        ended.wait(every_s)


@contextmanager
def shown(
    client: Client, load_id: str, show: Callable[[Progress], object], *, every_s: float = EVERY_S
) -> Iterator[None]:
    """Call `show` in a thread with the progress of a load: every few seconds, and at the end."""
    ended = threading.Event()

    def follow() -> None:
        for progress in followed(client, load_id, every_s=every_s, ended=ended):
            show(progress)

    follower = threading.Thread(target=follow, name="load progress", daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


@contextmanager
def logged(client: Client, load_id: str, *, every_s: float = EVERY_S) -> Iterator[None]:
    """Log the progress of a load with the logger `quorate.spark`, every few seconds of the block.

    Spark gives its data sources no place on the driver while a job runs, so the program that runs
    the job does this.
    """
    with shown(client, load_id, lambda progress: _log.info("%s", progress), every_s=every_s):
        yield
