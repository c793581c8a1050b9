"""The failures of commands: the event, its place and its fix, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from quorate.cli.encoding import fields_of

if TYPE_CHECKING:
    from quorate.client.errors import QuorateError
    from quorate.config import ConfigError
    from quorate.plugin.problems import PluginProblem


class ExitCode(IntEnum):
    """The meanings of the exit statuses of `quorate`."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CONFIGURATION = 3
    PLUGIN = 4
    UNAVAILABLE = 5
    REMOVED = 6
    OUTDATED = 7
    INTERRUPTED = 130


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


def failure(what: str, fix: str = "", exit_code: ExitCode = ExitCode.FAILED) -> Failure:
    """Return a failure of one problem."""
    return Failure(exit_code, [problem(what, fix)])


def usage(what: str, fix: str) -> Failure:
    """Return the failure of a command that was called in a wrong way."""
    return failure(what, fix, ExitCode.USAGE)


def problem(what: str, fix: str = "") -> Problem:
    """Return a problem with no parts but a statement and an optional fix."""
    return Problem(f"{what}; {fix}" if fix else what, {"what": what, "fix": fix})


def failures(problems: Iterable[tuple[str, str]], exit_code: ExitCode = ExitCode.FAILED) -> Failure:
    """Return a failure of several problems, each with its fix."""
    return Failure(exit_code, [problem(*each) for each in problems])


def not_installed(error: ModuleNotFoundError, what: str) -> Failure:
    """Return the failure of a function that needs the extra `server`."""
    fix = "pip install 'quorate[server]'"
    return failure(f"{what} needs {error.name}, which is not installed", fix)


def of_configuration(error: ConfigError) -> Failure:
    """Return the failure that lists everything that is wrong with the configuration."""
    names = "file line column variable key what fix"
    problems = [Problem(str(each), fields_of(each, names)) for each in error.problems]
    return Failure(ExitCode.CONFIGURATION, problems)


def of_plugins(problems: Sequence[PluginProblem]) -> Failure:
    """Return the failure that lists everything that is wrong with plugins."""
    names = "plugin distribution version where what fix"
    return Failure(
        ExitCode.PLUGIN, [Problem(str(each), fields_of(each, names)) for each in problems]
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
    if error.request:
        parts["request"] = error.request
    if isinstance(error, InvalidError):
        exit_code = ExitCode.USAGE
        parts["field"] = error.field
    elif isinstance(error, UnavailableError | OutcomeUnknownError):
        exit_code = ExitCode.UNAVAILABLE
    elif isinstance(error, RejectedError):
        parts["code"] = error.code
    # A refusal names its fix; for other errors the id helps to find the time spent.
    explained = error.request and exit_code is ExitCode.UNAVAILABLE
    sentence = f"{error} (request {error.request})" if explained else str(error)
    return Failure(exit_code, [Problem(sentence, parts)])
