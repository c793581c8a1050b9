"""The settings of `.option(...)`, which are checked before anything else is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

from quorate.client import InvalidError, Tls

from quorate_spark.source.errors import SourceError, meant

T = TypeVar("T", int, float)

Conflict = Literal["upsert", "insert_only"]
BadRows = Literal["fail", "dead_letter"]
LoadMode = Literal["auto", "rpc", "files"]
Publish = Literal["shards", "atomic", "later"]

#: Small requests wait on a node for as long as one batch is applied.
BATCH_ROWS: Final = 1_000
IN_FLIGHT: Final = 4
MAX_BAD_ROWS: Final = 1_000
TIMEOUT_S: Final = 120.0
VIEW_TTL_S: Final = 600.0
_MOST_BATCH_ROWS: Final = 10_000

#: Both `bad_rows` = `dead_letter` and `dead_letter_path`.
_SIDE_TABLE: Final = "bad.rows"
_BOTH: Final = frozenset({"table", "endpoints", "timeout_s", "tls_ca", "tls_cert", "tls_key"})
#: What all rows are loaded with, by a write or by a stream.
_LOADING: Final = _BOTH | {"batch_rows", "bad_rows", "max_bad_rows", "dead_letter_path"}
WRITE: Final = _LOADING | {
    "load_id",
    "conflict",
    "max_in_flight",
    "load.mode",
    "publish",
    _SIDE_TABLE,
}
READ: Final = _BOTH | {"columns", "ranges_per_shard", "view_ttl_s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The cluster of a job."""

    endpoints: str | None
    #: None: read from the environment of each process.
    tls: Tls | None
    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadingOptions(ClusterOptions):
    """How rows are written, by a job or by a stream."""

    table: str
    batch_rows: int
    bad_rows: BadRows
    #: More fail the load; with `bad_rows` = fail the first one does.
    max_bad_rows: int
    dead_letter_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions(LoadingOptions):
    """How rows are loaded."""

    #: Empty: one of its own for every write.
    load_id: str
    conflict: Conflict
    #: Maximum number of batches in flight from one partition to one shard.
    max_in_flight: int
    #: By commands, or as files that are installed at the end.
    load_mode: LoadMode = "auto"
    #: Each shard at its own end, all shards atomically, or atomically when an operator says so.
    publish: Publish = "shards"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(ClusterOptions):
    """How rows are read."""

    table: str
    #: The columns to read; empty: all.
    columns: tuple[str, ...]
    #: Parts into which the keys of a shard are divided; 0: as its size asks for.
    ranges_per_shard: int
    #: Time after which a node closes an unread view.
    view_ttl_s: float


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """Read the options of a write; raises `SourceError`."""
    options = _Given(given, WRITE)
    return WriteOptions(
        **options.loading(),
        load_id=options.text("load_id"),
        conflict=options.choice("conflict", Conflict),
        max_in_flight=options.number("max_in_flight", IN_FLIGHT, 1, 64),
        load_mode=_load_mode(options),
        publish=options.choice("publish", Publish),
    )


def _load_mode(options: _Given) -> LoadMode:
    """Return how rows are sent; atomic publications need files."""
    mode: LoadMode = options.choice("load.mode", LoadMode)
    if options.choice("publish", Publish) == "shards":
        return mode
    if mode == "rpc":
        raise SourceError(
            "publish needs files: leave load.mode out, or leave publish out to load by commands,"
            " whose rows are seen as they come"
        )
    return "files"


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Read the options of a read; raises `SourceError`."""
    options = _Given(given, READ)
    return ReadOptions(
        **options.cluster(),
        table=options.table(),
        columns=tuple(filter(None, map(str.strip, options.text("columns").split(",")))),
        ranges_per_shard=options.number("ranges_per_shard", 0, 0, 1_000),
        view_ttl_s=options.number("view_ttl_s", VIEW_TTL_S, 1.0, 3_600.0),
    )


def table_options(given: Mapping[str, str]) -> ReadOptions:
    """Read the options of a table for reads and writes; raises `SourceError`."""
    _Given(given, WRITE | READ)
    if "load_id" in given:
        raise SourceError(
            "load_id is of one write: leave it out of CREATE TABLE, and give it with the rows, as"
            " in INSERT INTO … WITH (load_id = '…') SELECT …"
        )
    write_options({name: value for name, value in given.items() if name in WRITE})
    return read_options({name: value for name, value in given.items() if name in READ})


#: The choices for a feed whose history was trimmed, and for its start.
LostHistory = Literal["fail", "snapshot"]
Starting = Literal["snapshot", "now"]

_FEED: Final = _BOTH - {"table"} | {
    "changes",
    "starting",
    "lost_history",
    "max_rows_per_trigger",
    "view_ttl_s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOptions(ClusterOptions):
    """How changes are followed."""

    #: The table or family.
    changes: str
    starting: Starting
    lost_history: LostHistory
    #: 0: all that there are.
    max_rows_per_trigger: int
    view_ttl_s: float


def feed_options(given: Mapping[str, str]) -> FeedOptions:
    """Read the options of a stream of changes; raises `SourceError`."""
    options = _Given(given, _FEED)
    return FeedOptions(
        **options.cluster(),
        changes=options.text("changes"),
        starting=options.choice("starting", Starting),
        lost_history=options.choice("lost_history", LostHistory),
        max_rows_per_trigger=options.number("max_rows_per_trigger", 0, 0),
        view_ttl_s=options.number("view_ttl_s", VIEW_TTL_S, 1.0, 3_600.0),
    )


_SINK: Final = _LOADING | {"operation"}
#: Options of Spark itself that it passes on with those of a sink.
_OF_SPARK: Final = frozenset({"checkpointlocation", "queryname"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions(LoadingOptions):
    """How the batches of a stream are applied."""

    #: The column that names the operation of a row; empty: all are put.
    operation: str


def sink_options(given: Mapping[str, str]) -> SinkOptions:
    """Read the options of a streaming sink; raises `SourceError`."""
    own = {name: value for name, value in given.items() if name.lower() not in _OF_SPARK}
    options = _Given(own, _SINK)
    return SinkOptions(**options.loading(), operation=options.text("operation"))


class _Given:
    """The options of a user; Spark has lowered the case of their names."""

    def __init__(self, given: Mapping[str, str], known: frozenset[str]) -> None:
        self._given: Final = {name.lower(): value for name, value in given.items()}
        if "bad_rows" in known and (side_table := self._given.pop(_SIDE_TABLE, "")):
            self._given.update(bad_rows="dead_letter", dead_letter_path=side_table)
        if "path" in self._given:
            raise SourceError(
                f"the source quorate takes no path ({self._given['path']!r}): call save() or load()"
                " without one, and name the rows with the option table"
            )
        unknown = sorted(self._given.keys() - known)
        if unknown:
            raise SourceError(
                f"the source quorate has no option {', '.join(unknown)} here; there are "
                f"{', '.join(sorted(known))}.{''.join(_instead(each, known) for each in unknown)}"
            )

    def text(self, name: str) -> str:
        return str(self._given.get(name, "")).strip()

    def cluster(self) -> dict[str, Any]:
        """Return the fields of `ClusterOptions`."""
        return {
            "endpoints": self.text("endpoints") or None,
            "tls": self.tls(),
            "timeout_s": self.number("timeout_s", TIMEOUT_S, 1.0),
        }

    def loading(self) -> dict[str, Any]:
        """Return the fields of `LoadingOptions`."""
        bad_rows = self.choice("bad_rows", BadRows)
        dead_letter_path = self.text("dead_letter_path")
        if bad_rows == "dead_letter" and not dead_letter_path:
            raise SourceError(
                "bad_rows is dead_letter, and dead_letter_path is not set: name a directory that"
                " all executors can write to, for rows that are not loaded"
            )
        return {
            "table": self.table(),
            **self.cluster(),
            "batch_rows": self.number("batch_rows", BATCH_ROWS, 1, _MOST_BATCH_ROWS),
            "bad_rows": bad_rows,
            "max_bad_rows": self.number("max_bad_rows", MAX_BAD_ROWS, 0),
            "dead_letter_path": dead_letter_path,
        }

    def table(self) -> str:
        name = self.text("table")
        if not name:
            raise SourceError(
                'the option table is not set: name one, as in "kv.pairs". A table of the catalog'
                " keeps its OPTIONS if CREATE TABLE has neither columns nor AS SELECT"
            )
        return name

    def tls(self) -> Tls | None:
        ca, cert, key = (self.text(f"tls_{name}") for name in ("ca", "cert", "key"))
        if not ca and (cert or key):
            raise SourceError(
                "tls_cert and tls_key need the option tls_ca: name the file of the CA of the nodes,"
                " which every executor can read"
            )
        try:
            return Tls(ca=ca, cert=cert or None, key=key or None) if ca else None
        except InvalidError as error:
            raise SourceError(f"options tls_cert and tls_key: {error.reason}") from None

    def choice(self, name: str, kind: Any) -> Any:
        """Return one of the values of a `Literal`; by default the first one."""
        choices = get_args(kind)
        chosen = self.text(name) or choices[0]
        if chosen not in choices:
            raise SourceError(
                f"option {name} is {chosen!r}, and must be {' or '.join(choices)}."
                f"{meant(chosen, choices)}"
            )
        return chosen

    def number(self, name: str, default: T, least: T, most: T | None = None) -> T:
        """Return a number of the kind of its default."""
        text = self.text(name)
        if not text:
            return default
        bounds = f"{least} or more" if most is None else f"{least} to {most}"
        try:
            number = type(default)(text)
        except ValueError:
            raise SourceError(f"option {name} is {text!r}, and must be {bounds}") from None
        # A value that is no number is not below the bound either.
        if not number >= least or (most is not None and number > most):
            raise SourceError(f"option {name} is {text}, and must be {bounds}")
        return number


def _instead(name: str, known: frozenset[str]) -> str:
    """Return what was meant by an option that there is not, after a space; empty if unknown."""
    places = {"reads": READ, "writes": WRITE, "streams of changes": _FEED}
    elsewhere = [place for place, options in places.items() if name in options]
    return f" {name!r} is one of {' and '.join(elsewhere)}." if elsewhere else meant(name, known)
