"""Checks, before a node serves, that the engine does what the log relies on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quorate.storage.engine.port import Batch, Engine, EngineError

_FAMILY: Final = "selftest"
_ROWS: Final = [(bytes([i]), b"row") for i in range(8)]

Opener = Callable[[Path, list[str]], Engine]


class SelfTestError(EngineError):
    """The engine that is installed does not do what Quorate relies on."""


def check(opener: Opener, inside: Path | None = None) -> None:
    """Check the facts on a database of its own; raises `SelfTestError` naming the one that fails.

    `inside` is where the database is made for the time of the check: best on the file system
    that the node keeps its log on.
    """
    with TemporaryDirectory(prefix="quorate-selftest-", dir=inside) as directory:
        path = Path(directory) / "database"
        engine = opener(path, [_FAMILY])
        with _closing(engine):
            _check_ranges(engine)
            _check_batches(engine)
            _check_views(engine)
            engine.flush_wal()
            _write_rows(engine)
        # The second opening names no family: those on disk come along.
        again = opener(path, [])
        with _closing(again):
            _require(again.families == (_FAMILY,), "families on disk are opened unasked")
            _require(_rows(again) == _ROWS, "what was written and not synced outlives a close")


def _check_ranges(engine: Engine) -> None:
    _write_rows(engine)
    inner = list(engine.iterate(_FAMILY, bytes([2]), bytes([5])))
    _require(inner == _ROWS[2:5], "a range holds its start and not its end")
    backwards = list(engine.iterate(_FAMILY, bytes([2]), bytes([5]), reverse=True))
    _require(backwards == inner[::-1], "a range is the same backwards")
    _require(engine.get(_FAMILY, bytes([99])) is None, "a key that is not there has no value")


def _check_batches(engine: Engine) -> None:
    batch = Batch()
    batch.delete_range(_FAMILY, bytes([0]), bytes([4]))
    batch.put(_FAMILY, bytes([2]), b"back")
    batch.delete(_FAMILY, bytes([7]))
    for _ in range(2):
        # Written twice: a batch outlives its write, unlike the one that rocksdict is given.
        engine.write(batch)
        _require(
            _rows(engine) == [(bytes([2]), b"back"), *_ROWS[4:7]],
            "a batch happens in its order: a put behind a range's deletion stands",
        )


def _check_views(engine: Engine) -> None:
    before = _rows(engine)
    view = engine.iterate(_FAMILY, b"", b"\xff")
    _write_rows(engine)
    _require(list(view) == before, "an iterator does not see later writes")


def _write_rows(engine: Engine) -> None:
    batch = Batch()
    batch.delete_range(_FAMILY, b"", b"\xff")
    for key, value in _ROWS:
        batch.put(_FAMILY, key, value)
    engine.write(batch)


def _rows(engine: Engine) -> list[tuple[bytes, bytes]]:
    return list(engine.iterate(_FAMILY, b"", b"\xff"))


@contextmanager
def _closing(engine: Engine) -> Iterator[None]:
    try:
        yield
    finally:
        engine.close()


def _require(holds: bool, fact: str) -> None:
    if not holds:
        raise SelfTestError(
            f"The storage engine fails its self-test: it does not hold that {fact}. Install the"
            " versions that Quorate names: pip install 'quorate[server]'."
        )
