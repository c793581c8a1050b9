"""How a command fails: what happened, where, and what to do, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quorate.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from quorate.client.errors import QuorateError
    from quorate.config import ConfigError
    from quorate.plugin.problems import PluginProblem


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: a sentence for people, and its parts for programs."""

    sentence: str
    parts: Mapping[str, object]


class Failure(Exception):
    """Ends a command with an exit code and everything that is wrong."""

    def __init__(self, exit_code: ExitCode, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(problem.sentence for problem in problems))
        self.exit_code: Final = exit_code
        self.problems: Final = tuple(problems)


def failure(exit_code: ExitCode, what: str, fix: str) -> Failure:
    """Return a failure of one problem."""
    return Failure(exit_code, [problem(what, fix)])


def problem(what: str, fix: str) -> Problem:
    """Return a problem that has no parts but what it is and what to do."""
    return Problem(f"{what}; {fix}", {"what": what, "fix": fix})


def of_configuration(error: ConfigError) -> Failure:
    """Return the failure that lists everything that is wrong with the configuration."""
    return Failure(
        ExitCode.CONFIGURATION,
        [
            Problem(
                str(each),
                {
                    "file": each.file,
                    "line": each.line,
                    "column": each.column,
                    "variable": each.variable,
                    "key": each.key,
                    "what": each.what,
                    "fix": each.fix,
                },
            )
            for each in error.problems
        ],
    )


def of_plugins(problems: Sequence[PluginProblem]) -> Failure:
    """Return the failure that lists everything that is wrong with plugins."""
    return Failure(
        ExitCode.PLUGIN,
        [
            Problem(
                str(each),
                {
                    "plugin": each.plugin,
                    "distribution": each.distribution,
                    "version": each.version,
                    "what": each.what,
                    "fix": each.fix,
                },
            )
            for each in problems
        ],
    )


def of_client(error: QuorateError) -> Failure:
    """Return the failure of a call to a cluster."""
    from quorate.client.errors import (
        InvalidError,
        OutcomeUnknownError,
        RejectedError,
        UnavailableError,
    )

    exit_code = ExitCode.FAILED
    parts: dict[str, object] = {"what": str(error), "fix": ""}
    if isinstance(error, InvalidError):
        exit_code = ExitCode.USAGE
        parts["field"] = error.field
    elif isinstance(error, UnavailableError | OutcomeUnknownError):
        exit_code = ExitCode.UNAVAILABLE
    elif isinstance(error, RejectedError):
        parts["code"] = error.code
    return Failure(exit_code, [Problem(str(error), parts)])
