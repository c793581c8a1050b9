"""What is wrong with a configuration, and how to fix it."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One thing that is wrong, where it stands, and what to do about it."""

    #: The file as it was named by the caller; None for what no file says.
    file: str | None = None
    #: The line in the file, counted from 1; None where the file holds no such line.
    line: int | None = None
    #: The column, counted from 1; only syntax errors know it.
    column: int | None = None
    #: The environment variable that holds the value, when it is not the file that does.
    variable: str | None = None
    #: The dotted key (`timing.heartbeat_ms`); empty when the file as a whole is meant.
    key: str = ""
    what: str
    fix: str

    def __str__(self) -> str:
        """Return one line: where, key, what is wrong, what to do."""
        place = self.variable or self.file or "configuration"
        if self.variable is None and self.line is not None:
            place += f":{self.line}" if self.column is None else f":{self.line}:{self.column}"
        return ": ".join(part for part in (place, self.key, f"{self.what}; {self.fix}") if part)


class ConfigError(Exception):
    """The configuration cannot be used; holds every problem that was found, in file order."""

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        """Keep the problems; the text has one line for each."""
        self.problems = tuple(sorted(problems, key=_place))
        super().__init__("\n".join(map(str, self.problems)))


def _place(problem: ConfigProblem) -> tuple[bool, int, str, str]:
    return (
        problem.variable is not None,
        problem.line or 0,
        problem.variable or "",
        problem.key,
    )
