"""Progress bars on standard error, where a person watches; nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)


@contextmanager
def bytes_copied(title: str) -> Iterator[Callable[[int], None]]:
    """Show how many bytes were copied, of nobody knows how many; give what adds to them."""
    with _bar(SpinnerColumn(), DownloadColumn(), TransferSpeedColumn()) as progress:
        task = progress.add_task(title, total=None)
        yield lambda size: progress.advance(task, size)


@contextmanager
def calls_done(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show how many calls of how many are done; give what adds to them."""
    with _bar(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.advance(task, count)


def _bar(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
