"""Regular expressions that no engine takes exponential time for, since any broker runs them.

Backtracking engines try every way to divide a text among repetitions. An expression is accepted
if a text can be divided in few ways only: a repeated part has neither a repetition nor a choice in
it, and the expression uses no feature that only such engines have.
"""

import re
from dataclasses import dataclass
from typing import Final

#: Maximum number of counted repetitions of a part, including the repetitions within it.
MOST_REPEATS: Final = 1_000

_TOKEN: Final = re.compile(
    r"""
    (?P<escape> \\. )
  | (?P<set>    \[ \^? \]? (?: \\. | [^\]\\] )* \] )
  | (?P<flags>  \( \? [aims]+ \) )
  | (?P<open>   \( (?: \? (?: : | P<\w+> | [aims]+: ) )? )
  | (?P<close>  \) )
  | (?P<choice> \| )
  | (?P<repeat> (?: [*+?] | \{ (?P<least>\d*) (?P<to>,)? (?P<most>\d*) \} ) \?? )
  | (?P<one>    . )
    """,
    re.VERBOSE | re.DOTALL,
)


class UnsafeExpressionError(Exception):
    """An engine may take exponential time for the expression, or does not support it."""


@dataclass(slots=True)
class _Part:
    """A group, or all of an expression."""

    #: Whether the part can match texts of several lengths, or in several ways.
    varies: bool = False
    #: Maximum number of counted repetitions within the part.
    repeats: int = 1


def check_linear(expression: str) -> None:
    """Raise `UnsafeExpressionError` unless every engine evaluates an expression quickly."""
    parts = [_Part()]
    last = _Part()
    at = 0
    while at < len(expression):
        found = _TOKEN.match(expression, at)
        assert found is not None
        at = found.end()
        match found.lastgroup:
            case "escape" if found[0][1] in "123456789":
                raise UnsafeExpressionError(f"{found[0]} refers back: repeat what is meant")
            case "open" if found[0] == "(" and expression.startswith("?", at):
                raise UnsafeExpressionError(
                    f"{expression[at - 1 : at + 3]!r} looks around or is a condition: only groups"
                    " that match, such as (?:...) and (?P<name>...), are known to every engine"
                )
            case "open":
                parts.append(_Part())
            case "close":
                last = parts.pop()
                parts[-1].varies |= last.varies
                parts[-1].repeats = max(parts[-1].repeats, last.repeats)
            case "choice":
                parts[-1].varies = True
            case "repeat":
                _repeat(found, last, parts[-1])
                last = _Part()
            case _:
                last = _Part()


def _repeat(found: re.Match[str], last: _Part, around: _Part) -> None:
    text = found["repeat"].removesuffix("?") or "?"
    counted = text.startswith("{")
    if counted and not (found["least"] or found["most"]):
        # It stands for itself.
        return
    least = int(found["least"] or 0) if counted else 0
    most = int(found["most"] or (0 if found["to"] else least)) if counted else 0
    once = text == "?" or (counted and most == 1)
    if last.varies and not once:
        raise UnsafeExpressionError(
            f"{text} at {found.start()} repeats a group that has a repetition or a choice in it:"
            " some engines take exponential time for that"
        )
    around.varies |= not counted or least != most
    around.repeats = max(around.repeats, last.repeats * max(least, most, 1))
    if around.repeats > MOST_REPEATS:
        raise UnsafeExpressionError(
            f"{text} at {found.start()} repeats something {around.repeats} times, and"
            f" {MOST_REPEATS} are the most"
        )
