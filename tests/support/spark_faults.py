"""Spark whose processes are killed within a load."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource

#: In a task: its files are on the nodes, and nobody was told.
IN_A_TASK: Final = -1


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is loaded, and when what is killed."""

    load_id: str
    columns: list[str]
    rows: int
    partitions: int
    options: dict[str, str] = field(default_factory=dict)
    #: After so many calls of the commit, or `IN_A_TASK`.
    step: int
    #: A file that says that it was killed.
    mark: str

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the rows."""
        return spark.range(0, self.rows, 1, self.partitions).selectExpr(*self.columns)

    def save(self, spark: SparkSession, source: str = "quorate") -> None:
        """Load the rows."""
        options = {**self.options, "load_id": self.load_id}
        self.frame(spark).write.format(source).mode("append").options(**options).save()

    def save_and_die(self, spark: SparkSession) -> None:
        """Load the rows, in which something is killed; raises what Spark raises."""
        spark.dataSource.register(dying(self.step, self.mark))
        self.save(spark, "dying")


def dying(step: int, mark: str) -> type[DataSource]:
    """Return a source like `quorate` whose process is killed once.

    All is within this function: Spark hands it to its processes by value, for they have no tests.
    """
    from quorate_spark.source.data_source import QuorateSource
    from quorate_spark.source.writing import TableWriter

    in_a_task = step == IN_A_TASK

    def once() -> None:
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    class DyingWriter(TableWriter):
        def write(self, iterator: Iterator[Any]) -> Any:
            sent = super().write(iterator)
            if in_a_task:
                once()
            return sent

        def commit(self, messages: list[Any]) -> None:
            from quorate.client.twins import LoopThread

            run: Any = LoopThread.run
            calls = iter(range(step))

            def counted(thread: LoopThread, coroutine: Any) -> Any:
                if not in_a_task and next(calls, None) is None:
                    once()
                return run(thread, coroutine)

            # The process runs this commit and nothing else.
            LoopThread.run = counted  # type: ignore[method-assign, assignment]
            try:
                super().commit(messages)
            finally:
                LoopThread.run = run  # type: ignore[method-assign]

    class DyingSource(QuorateSource):
        @classmethod
        def name(cls) -> str:
            return "dying"

        def writer(self, schema: Any, overwrite: bool) -> TableWriter:
            made = super().writer(schema, overwrite)
            return DyingWriter(made.options, made.opened)

    return DyingSource
