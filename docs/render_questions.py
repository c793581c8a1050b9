"""Computes how long a reader looks for the answers to the ten questions: a table of that page.

`python docs/render_questions.py` prints it. A reader begins at the top of README.md, reads each
word in its order, and follows the link that promises an answer; pictures of characters are left
out. The former pages are those of the commit of the release 0.1.0.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
WORDS_A_MINUTE: Final = 230
BEFORE: Final = "61c88400"
_START: Final = "README.md"
_QUESTIONS: Final = "docs/explanation/questions.md"

#: Pages, each with the text that leads on from it, or that answers.
Route = Sequence[tuple[str, str]]


def _through(link: str, page: str, answer: str) -> Route:
    return ((_START, link), (page, answer))


#: Where each question was answered before; none where no link led to an answer.
FORMER: Final[dict[str, Route | None]] = {
    "Why not etcd?": None,
    "Is it safe on three machines?": _through(
        "[The store]", "docs/explanation/store.md", "durable on a majority"
    ),
    "How do I see what it does?": _through(
        "[observe a node]", "docs/how-to/observe.md", "| `/console` |"
    ),
    "How do I write from Go?": _through(
        "[gRPC]", "docs/reference/grpc.md", "import path for any protobuf compiler"
    ),
    "What happens when a disk dies?": _through(
        "[The store]", "docs/explanation/store.md", "nothing if files are damaged: it is rebuilt"
    ),
    "How fast is it?": None,
    "Can a write be lost, or done twice?": _through(
        "[exactly-once writes]", "docs/how-to/exactly-once-writes.md", "applies it once"
    ),
    "How do I keep others out?": _through(
        "[secure a cluster]", "docs/how-to/secure.md", "`quorate cert` is a small one"
    ),
    "How do I back up, upgrade and go back?": _through(
        "[back up and restore]", "docs/how-to/back-up-and-restore.md", "`AdminService.Backup`"
    ),
    "Can I build on it?": _through(
        "[what stays as it is]", "docs/reference/promise.md", "`tests/compat`"
    ),
}
#: Where README.md itself answers.
AT_ONCE: Final = {
    "Why not etcd?": "with a command line and a console",
    "How fast is it?": "time without a leader after its death",
}


def seconds(route: Route, read: Callable[[str], str]) -> int:
    """Return how long it takes to read from the top of each page to its text."""
    return round(sum(_words(read(page), text) for page, text in route) / WORDS_A_MINUTE * 60)


def _words(page: str, until: str) -> int:
    words, found = until.split(), re.sub(r"\s+", " ", _legible(page))
    at = found.find(" ".join(words))
    if at < 0:
        raise ValueError(f"{until!r} is not on its page")
    return len(re.findall(r"\w[\w'./=-]*", re.sub(r"\]\([^)]*\)", "]", found[:at]))) + len(words)


def _legible(page: str) -> str:
    """Return a page without pictures of characters."""
    return re.sub(r"^```text\n.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def routes() -> Iterator[tuple[str, Route]]:
    """Yield each question with the shortest way to its answer now."""
    text = now(_QUESTIONS)
    for question, answer in re.findall(r"^## ([^\n]+\?)\n\n(.+?)(?=\n\n##|\Z)", text, re.M | re.S):
        if question in AT_ONCE:
            yield question, ((_START, AT_ONCE[question]),)
        else:
            first = re.split(r"(?<=[.;])\s", answer)[0]
            yield question, _through("[Ten questions]", _QUESTIONS, first)


def now(page: str) -> str:
    """Return a page as it is."""
    return ROOT.joinpath(page).read_text(encoding="utf-8")


def then(page: str) -> str:
    """Return a page of the release 0.1.0."""
    show = ["git", "show", f"{BEFORE}:{page}"]
    return subprocess.run(show, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def render() -> str:
    """Return the table."""
    rows = ["| question | at 0.1.0 | second | now | second |", "|---|---|---|---|---|"]
    for question, route in routes():
        former = FORMER[question]
        before = "—" if former is None else str(seconds(former, then))
        cells = (question, _place(former), before, _place(route), str(seconds(route, now)))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _place(route: Route | None) -> str:
    return "nowhere that a link led to" if route is None else f"`{route[-1][0]}`"


if __name__ == "__main__":
    sys.stdout.write(render())
