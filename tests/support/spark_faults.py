"""Spark whose processes are killed within a load; as a program, a Spark of its own that loads."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
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
    #: The process that does it; "driver": with its whole Spark; "executor": once, with its Java.
    kills: str = "process"
    master: str = "local[2]"
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
        spark.dataSource.register(dying(self.step, self.killing(), self.mark))
        self.save(spark, "dying")

    def killing(self) -> Callable[[], None]:
        """Return what kills, on whatever machine of Spark it is called."""
        driver = os.getpid() if self.kills == "driver" else 0
        executor = self.kills == "executor"

        # All within one function: Spark hands it to its processes by value, for they have no tests.
        def kill() -> None:
            if driver:
                os.killpg(os.getpgid(driver), signal.SIGKILL)
            if executor:
                # Above it is the daemon of Python, and above that Java.
                stat = Path(f"/proc/{os.getppid()}/stat").read_text()
                os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

        return kill


def dying(step: int, kill: Callable[[], None], mark: str) -> type[DataSource]:
    """Return a source like `quorate` that kills once."""
    from quorate_spark.source.data_source import QuorateSource
    from quorate_spark.source.writing import TableWriter

    in_a_task = step == IN_A_TASK

    def once() -> None:
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            return
        kill()

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


def started(job: Job) -> list[str]:
    """Return the command that carries out a job with a Spark of its own."""
    return [sys.executable, "-m", "tests.support.spark_faults", json.dumps(asdict(job))]


def main() -> None:
    """Carry out the job that is given."""
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    job = Job(**json.loads(sys.argv[1]))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(job.master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    job.save_and_die(builder.getOrCreate())


if __name__ == "__main__":
    main()
