"""Checks at start that the engine has the properties that log and data rely on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Final

from quorate.storage.engine.port import Batch, Engine, EngineError

_FAMILY: Final = "selftest"
_OTHER: Final = "selftest.other"
_FAMILIES: Final = (_FAMILY, _OTHER)
_ROWS: Final = [(bytes([i]), b"row") for i in range(8)]
#: The rows of both families at the checkpoint, and after it.
_COPIED: Final = (_ROWS, _ROWS)
_WRITTEN: Final[tuple[list[tuple[bytes, bytes]], ...]] = ([], [*_ROWS, (b"later", b"row")])

Opener = Callable[[Path, list[str]], Engine]


class SelfTestError(EngineError):
    """The installed engine lacks a property that Quorate relies on."""


def check(
    opener: Opener, inside: Path | None = None, copy: Callable[[Path, Path], object] = copytree
) -> None:
    """Check the facts on a database of its own; raises `SelfTestError` naming the one that fails.

    `inside` is where the database is made for the time of the check: best on the file system
    that the node keeps its log on. `copy` copies the files of a database while it is open.
    """
    with TemporaryDirectory(prefix="quorate-selftest-", dir=inside) as directory:
        path = Path(directory) / "database"
        checkpoint, killed = path.with_name("checkpoint"), path.with_name("killed")
        engine = opener(path, [*_FAMILIES])
        with _closing(engine):
            _check_ranges(engine)
            _check_batches(engine)
            _check_views(engine)
            engine.flush_wal()
            _check_checkpoints(engine, checkpoint)
            # A kill would leave exactly what the files have now.
            copy(path, killed)
        with _closing(opener(killed, [])) as found:
            _require(_state(found) == _WRITTEN, "unsynced writes survive a kill")
        with _closing(opener(checkpoint, [])) as found:
            _require(_state(found) == _COPIED, "a checkpoint has the rows at its creation")
        # No family was named: those on disk are opened.
        with _closing(opener(path, [_OTHER])) as found:
            _require(found.families == _FAMILIES, "unrequested families on disk are opened")
            _require(found.orphans == (_FAMILY,), "unrequested families on disk are reported")
            _require(_state(found) == _WRITTEN, "unsynced writes survive a close")


def _check_ranges(engine: Engine) -> None:
    _write_rows(engine)
    inner = list(engine.iterate(_FAMILY, bytes([2]), bytes([5])))
    _require(inner == _ROWS[2:5], "a range includes its start and not its end")
    backwards = list(engine.iterate(_FAMILY, bytes([2]), bytes([5]), reverse=True))
    _require(backwards == inner[::-1], "a range is the same backwards")
    _require(engine.get(_FAMILY, bytes([99])) is None, "a missing key has no value")
    keys = [bytes([number]) for number in (3, 99, 1, 3)]
    _require(
        engine.get_many(_FAMILY, keys) == [engine.get(_FAMILY, key) for key in keys],
        "the values of many keys are in the order of the keys",
    )


def _check_batches(engine: Engine) -> None:
    batch = Batch()
    batch.delete_range(_FAMILY, bytes([0]), bytes([4]))
    batch.put(_FAMILY, bytes([2]), b"back")
    batch.delete(_FAMILY, bytes([7]))
    for _ in range(2):
        # Written twice: our batch can be reused after a write, unlike rocksdict's.
        engine.write(batch)
        _require(
            _rows(engine) == [(bytes([2]), b"back"), *_ROWS[4:7]],
            "a batch is applied in order: a put after a range deletion remains",
        )


def _check_views(engine: Engine) -> None:
    before = _state(engine)
    views = [engine.iterate(family, b"", b"\xff") for family in _FAMILIES]
    batch = Batch()
    for family in _FAMILIES:
        batch.put(family, b"later", b"row")
    engine.write(batch)
    _require(
        tuple(list(view) for view in views) == before,
        "iterators created together form one view, which later writes do not change",
    )
    _write_rows(engine)


def _check_checkpoints(engine: Engine, target: Path) -> None:
    for family in _FAMILIES:
        engine.flush(family)
    engine.checkpoint(target)
    batch = Batch()
    batch.delete_range(_FAMILY, b"", b"\xff")
    batch.put(_OTHER, b"later", b"row")
    engine.write(batch)


def _write_rows(engine: Engine) -> None:
    batch = Batch()
    for family in _FAMILIES:
        batch.delete_range(family, b"", b"\xff")
    for key, value in _ROWS:
        batch.put(_FAMILY, key, value)
        batch.put(_OTHER, key, value)
    engine.write(batch)


def _rows(engine: Engine, family: str = _FAMILY) -> list[tuple[bytes, bytes]]:
    return list(engine.iterate(family, b"", b"\xff"))


def _state(engine: Engine) -> tuple[list[tuple[bytes, bytes]], ...]:
    return tuple(_rows(engine, family) for family in _FAMILIES)


@contextmanager
def _closing(engine: Engine) -> Iterator[Engine]:
    try:
        yield engine
    finally:
        engine.close()


def _require(holds: bool, fact: str) -> None:
    if not holds:
        raise SelfTestError(
            f"The storage engine fails its self-test: expected that {fact}. Install the"
            " versions that Quorate requires: pip install 'quorate[server]'."
        )
