"""The command group `quorate spark`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import click
from quorate.client import Client, QuorateError
from quorate.plugin import Console
from quorate.plugin.console import columns_of, consent, consent_options
from rich.console import Console as Screen
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from quorate_spark.client import Loads
from quorate_spark.source.progress import Progress as LoadProgress, followed, shown
from quorate_spark.v1.queries_pb2 import LoadView
from quorate_spark.v1.rows_pb2 import Load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FORMATS: Final = ("csv", "json", "parquet")
_POLL_S: Final = 0.5
#: Small rows per second that three nodes on two cores load; benchmarks/results/spark_load.md.
_ROWS_A_SECOND: Final = 10_000

_table = click.option("--table", required=True, help='Which rows, for example "kv.pairs".')
_format = click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="The format of the files; by default inferred from their names.",
)
_cores = click.option(
    "--cores", type=click.IntRange(1, 1_024), help="Cores of this machine; the default is all."
)


@click.group()
def spark() -> None:
    """Load files into tables, write tables into files, and list loads."""


@spark.group("load")
def loads() -> None:
    """Check and run bulk loads; list, publish, abort and forget them."""


@loads.command("run")
@click.argument("path", type=click.Path(path_type=Path))
@_table
@_format
@_cores
@click.option("--load-id", help="The name of the load; use the same one to continue it.")
@click.option(
    "--conflict",
    type=click.Choice(["upsert", "insert_only"]),
    default="upsert",
    show_default=True,
    help="insert_only refuses existing rows, and can be aborted.",
)
@click.option(
    "--dead-letters",
    type=click.Path(path_type=Path),
    help="Write rows that cannot be loaded there, and load the others.",
)
@click.option(
    "--max-bad-rows",
    type=click.IntRange(0, (1 << 31) - 1),
    help="Fail if there are more; 1000 by default.",
)
@click.pass_obj
def run(
    console: Console,
    path: Path,
    table: str,
    form: str | None,
    cores: int | None,
    load_id: str | None,
    conflict: str,
    dead_letters: Path | None,
    max_bad_rows: int | None,
) -> None:
    """Load the rows of a file, or of all files of a directory, into a table.

    Each attempt with one --load-id continues where the last one ended, and loads no row twice.
    """
    load_id = load_id or uuid.uuid4().hex
    client = console.client()
    began = monotonic()
    with _spark("quorate spark load", cores) as session:
        from quorate_spark.source import files
        from quorate_spark.source.tables import find

        chosen: Any = form or files.format_of(path)
        rows = files.read(session, path, chosen, find(table))
        options = {
            "table": table,
            **_reached(client),
            "load_id": load_id,
            "conflict": conflict,
        }
        if dead_letters is not None:
            options |= {"bad_rows": "dead_letter", "dead_letter_path": str(dead_letters.absolute())}
        if max_bad_rows is not None:
            options["max_bad_rows"] = str(max_bad_rows)
        # Reading a count from Parquet costs nothing; from the others it costs a second pass.
        total = rows.count() if chosen == "parquet" else None
        with _progress(client, load_id, total):
            rows.write.format("quorate").mode("append").options(**options).save()
    view = Loads(client).get(load_id)
    if view is None:
        raise click.ClickException(f"load {load_id} was forgotten while it ran")
    took_s = monotonic() - began
    console.print([{**_row(view), "seconds": round(took_s, 1)}])


@spark.command()
@click.argument("path", type=click.Path(path_type=Path))
@_table
@_format
@_cores
@click.option("--where", help="A condition in SQL; on columns of the key it is quick.")
@click.pass_obj
def export(
    console: Console,
    path: Path,
    table: str,
    form: str | None,
    cores: int | None,
    where: str | None,
) -> None:
    """Write the rows of a table into files of a new directory, each shard at one revision."""
    client = console.client()
    began = monotonic()
    with _spark("quorate spark export", cores) as session:
        from quorate_spark.source import files

        chosen: Any = form or "parquet"
        options = {"table": table, **_reached(client)}
        rows = session.read.format("quorate").options(**options).load()
        count = files.write(rows.where(where) if where else rows, path, chosen)
    took_s = monotonic() - began
    console.print([{"table": table, "path": str(path), "rows": count, "seconds": round(took_s, 1)}])


@loads.command()
@_table
@click.option(
    "--path",
    required=True,
    type=click.Path(path_type=Path),
    help="A file, or a directory of files.",
)
@_format
@click.option(
    "--rate",
    type=click.IntRange(1),
    default=_ROWS_A_SECOND,
    show_default=True,
    help="Rows per second that the cluster loads, to estimate the time.",
)
@click.pass_context
def check(ctx: click.Context, table: str, path: Path, form: str | None, rate: int) -> None:
    """Check the columns and every row of files for a table, without a cluster and without Java.

    It tells the first bad rows with their reasons, how many rows have the key of an earlier one,
    about how many bytes the rows take on each node, and about how long the load takes. The exit
    code is 1 if there are bad rows.
    """
    _demand_spark()
    with _told():
        from quorate_spark.source.checking import check as look_at

        chosen: Any = form
        found = look_at(table, path, chosen)
    console: Console = ctx.obj
    console.print(
        [
            {
                "table": table,
                "path": str(path),
                "rows": found.rows,
                "bad_rows": found.bad_rows,
                "repeated_keys": found.repeated,
                "bytes": found.size,
                "seconds": round((found.rows - found.bad_rows) / rate, 1),
                "first_bad": "; ".join(map(str, found.first_bad)),
            }
        ]
    )
    if found.bad_rows:
        ctx.exit(1)


@loads.command("list")
@click.pass_obj
def list_loads(console: Console) -> None:
    """List all loads."""
    console.print(map(_row, Loads(console.client()).all()))


@loads.command("get")
@click.argument("load_id")
@click.option(
    "--follow", is_flag=True, help="Report progress on standard error until the load ends."
)
@click.pass_obj
def get(console: Console, load_id: str, follow: bool) -> None:
    """Show the progress of each part of a load."""
    client = console.client()
    view = _demand(client, load_id)
    if follow:
        for progress in followed(client, load_id):
            view = progress.load
            click.echo(str(progress), err=True)
            if view.load.state != Load.LOADING:
                break
    console.print(map(dict, map(columns_of, view.parts)))


@loads.command()
@click.argument("load_id")
@click.option(
    "--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait for the end."
)
@click.pass_obj
def publish(console: Console, load_id: str, timeout: float) -> None:
    """Make all rows of a staged load visible atomically; may be repeated."""
    client = console.client()
    with _told():
        from quorate_spark.source.placing import publish as put_in_place

        load = put_in_place(client, load_id, timeout)
    console.print([{"load_id": load_id, "state": Load.State.Name(load.state).lower()}])


@loads.command()
@click.argument("load_id")
@consent_options
@click.pass_obj
def abort(console: Console, load_id: str, plan: bool, yes: bool) -> None:
    """Delete the rows that an insert_only load inserted, except those changed since.

    Of a load that has finished it shows how many they are, and asks.
    """
    client = console.client()
    if not yes or plan:
        view = _demand(client, load_id)
        question = f"Delete the {view.rows} rows that load {load_id} put into {view.load.table}?"
        finished = view.load.state == Load.FINISHED
        if (finished or plan) and not consent(console, question, [_row(view)], plan=plan, yes=yes):
            return
    with _told(), _bar() as bar:
        from quorate_spark.source.undoing import abort as take_back

        task = bar.add_task("rows looked at", total=None)
        removed = take_back(client, load_id, lambda rows: bar.advance(task, rows))
    console.print([{"load_id": load_id, "state": "aborted", "removed": removed}])


@loads.command()
@click.argument("load_id")
@click.pass_obj
def forget(console: Console, load_id: str) -> None:
    """Forget a load that has ended; its rows stay, and its id may be used again."""
    client = console.client()
    with _told():
        from quorate_spark.source.undoing import forget as let_go

        let_go(client, load_id)
    console.print([{"load_id": load_id, "state": "forgotten"}])


def _demand(client: Client, load_id: str) -> LoadView:
    view = Loads(client).get(load_id)
    if view is None:
        raise click.ClickException(f"there is no load {load_id}; see `quorate spark load list`")
    return view


def _row(view: LoadView) -> Mapping[str, object]:
    load = view.load
    return {
        "load_id": load.load_id,
        "table": load.table,
        "state": Load.State.Name(load.state).lower(),
        "rows": view.rows,
        "bad_rows": view.bad_rows,
        "row_bytes": view.row_bytes,
        "partitions": f"{view.partitions_finished}/{view.partitions}",
        "reason": load.reason,
    }


def _reached(client: Client) -> dict[str, str]:
    """Return the endpoints and the TLS files for Spark's workers."""
    found = {"endpoints": ",".join(node.address for node in client.topology().nodes)}
    if (tls := client.asynchronous.tls) is not None:
        files = {"tls_ca": tls.ca, "tls_cert": tls.cert, "tls_key": tls.key}
        # Workers run in directories of their own.
        found |= {name: str(Path(file).absolute()) for name, file in files.items() if file}
    return found


@contextmanager
def _spark(name: str, cores: int | None) -> Iterator[SparkSession]:
    _demand_spark()
    # Spark logs addresses while it starts, which users do not need.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with _told():
        from quorate_spark.source.local import local_spark

        with local_spark(name, cores=cores) as session:
            yield session


def _demand_spark() -> None:
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise click.ClickException('this needs Spark: pip install "quorate-spark[spark]"')


@contextmanager
def _told() -> Iterator[None]:
    """Report a failure in one sentence, wherever Spark has put it."""
    from quorate_spark.source.errors import SourceError, sentence_of

    try:
        yield
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    except (QuorateError, click.ClickException):
        raise
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        raise click.ClickException(sentence) from error


@contextmanager
def _progress(client: Client, load_id: str, total: int | None) -> Iterator[None]:
    """Report the progress of a load on standard error: as a bar on a terminal, or in lines."""
    with _bar() as bar:
        if bar.disable:
            with shown(client, load_id, lambda progress: click.echo(str(progress), err=True)):
                yield
            return
        task = bar.add_task("rows", total=total)

        def show(progress: LoadProgress) -> None:
            bar.update(task, completed=progress.load.rows)

        with shown(client, load_id, show, every_s=_POLL_S):
            yield


def _bar() -> Progress:
    screen = Screen(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        disable=not screen.is_terminal,
        transient=True,
    )
