"""The HTML of the pages; all data from a cluster is escaped here."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Final
from urllib.parse import quote, urlencode

from quorate.cli.console.words import ago, titled
from quorate.observe.thresholds import FULL
from quorate.plugin.console import time_text

#: The path of the console.
ROOT: Final = "/console"
#: A time as commands print it.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
#: How much of a value a cell shows.
_SHOWN = 120
#: Names up to this length are not broken over lines.
_SHORT = 24
#: How much of it is behind that.
_WHOLE = 1 << 14


@dataclass(frozen=True, slots=True)
class Link:
    """A value that leads somewhere: to a path of the console, with a query."""

    text: str
    path: str
    query: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Links:
    """The actions of a row."""

    links: Sequence[Link]


@dataclass(frozen=True, slots=True)
class Share:
    """How much of something is used; `of` 0: it has no bound."""

    used: float
    of: float


@dataclass(frozen=True, slots=True)
class Trend:
    """A value with the ones before it, the last one now."""

    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Bad:
    """A value that an operator has to look after."""

    value: object


@dataclass(frozen=True, slots=True)
class Strong:
    """A value that stands out among others."""

    value: object


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, in ms since 1970."""

    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page; its part above the tables is not refreshed while it is open."""

    title: str
    tables: Sequence[tuple[str, Sequence[Mapping[str, object]]]] = ()
    head: str = ""
    #: Whether the rest is refreshed.
    renewed: bool = True
    #: Refreshed, above and below the tables.
    lead: str = ""
    foot: str = ""
    #: What would be here, and how to get it.
    empty: str = ""


def note(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def form(
    fields: Mapping[str, str],
    required: Container[str] = (),
    button: str = "Show",
    choices: Mapping[str, Iterable[str]] | None = None,
) -> str:
    """Return a form that requests the same page with the values of its fields.

    A field with choices is a list to choose from.
    """
    inputs = "".join(
        f"<label>{escape(titled(name))} "
        + (
            _select(name, value, choices[name])
            if choices and name in choices
            else f'<input name="{escape(name)}" value="{escape(value)}"'
            f"{' required' if name in required else ''}>"
        )
        + "</label> "
        for name, value in fields.items()
    )
    return f'<form method="get">{inputs}<button>{escape(button)}</button></form>' if inputs else ""


def _select(name: str, value: str, choices: Iterable[str]) -> str:
    options = "".join(
        f'<option value="{escape(each)}"{" selected" if each == value else ""}>'
        f"{escape(titled(each)) or 'Any'}</option>"
        for each in ("", *choices)
    )
    return f'<select name="{escape(name)}">{options}</select>'


def confirmation_form(fields: Mapping[str, str]) -> str:
    """Return a form that posts the values of its fields to the same page."""
    inputs = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in fields.items()
    )
    return f'<form method="post">{inputs}<button class="do">Do it</button></form>'


def anchor(link: Link, *, current: bool = False) -> str:
    """Return a link."""
    query = f"?{urlencode(link.query)}" if link.query else ""
    href = escape(f"{ROOT}/{quote(link.path)}{query}" if link.path else f"{ROOT}{query}")
    mark = ' aria-current="page"' if current else ""
    return f'<a href="{href}"{mark}>{escape(link.text)}</a>'


def cell(name: str, value: object) -> str:
    """Return a cell of a table."""
    match value:
        case Bad():
            kind = "bad"
        case Links():
            kind = "links"
        case int() | float() if not isinstance(value, bool):
            kind = "number"
        case _:
            kind = "short" if _is_short(value) else ""
    return f"<td{f' class={kind}' if kind else ''}>{_shown(name, value)}</td>"


def _is_short(value: object) -> bool:
    """Return whether a value is a name that is read at a glance, and not to be broken."""
    text = value.text if isinstance(value, Link) else value
    return isinstance(text, str) and 0 < len(text) <= _SHORT and " " not in text


def _shown(name: str, value: object) -> str:
    match value:
        case Bad(inner):
            return f'<span role="img" aria-label="look at this">⚠</span> {_shown(name, inner)}'
        case Strong(inner):
            return f"<strong>{_shown(name, inner)}</strong>"
        case Link():
            return anchor(value) if len(value.text) <= _SHOWN else _long(value)
        case Links(links):
            return " · ".join(anchor(each) for each in links)
        case Share(used, of):
            text = f"{used:,.10g} of {of:,.10g}" if of else f"{used:,.10g}"
            return f"{meter(used / of, text)} {text}" if of else text
        case Trend(values):
            return f"{_line(values)} {values[-1]:,.10g}" if values else ""
        case Moment(ms):
            return moment(ms)
        case int() if name.endswith("_ms") and value > 1 << 40:
            return moment(value)
        case str() if _TIME.fullmatch(value):
            return moment(datetime.fromisoformat(value).timestamp() * 1e3)
    text = text_of(value)
    if len(text) <= _SHOWN:
        return escape(text)
    # The whole is behind its beginning.
    more = f" and {len(text) - _WHOLE:,} more characters" if len(text) > _WHOLE else ""
    return (
        f"<details><summary>{escape(text[:_SHOWN])}…</summary>"
        f"<code>{escape(text[:_WHOLE])}</code>{more}</details>"
    )


def _long(link: Link) -> str:
    """Return a link with a long name: its beginning, and the whole behind it."""
    short = anchor(Link(f"{link.text[:_SHOWN]}…", link.path, link.query))
    whole = f"<details><summary>all</summary><code>{escape(link.text[:_WHOLE])}</code></details>"
    return f'<div class="long">{short}{whole}</div>'


def moment(ms: float) -> str:
    """Return how long ago a moment was, with the moment behind it."""
    exact = escape(time_text(round(ms)))
    return f'<time datetime="{exact}" title="{exact}">{escape(ago(ms))}</time>'


def text_of(value: object) -> str:
    """Return a value of a row for people."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.10g}"
        case bytes():
            try:
                text = value.decode()
            except UnicodeDecodeError:
                return b64encode(value).decode()
            return text if text.isprintable() else b64encode(value).decode()
        case Mapping():
            return ", ".join(f"{key} {text_of(each)}" for key, each in value.items())
        case str():
            return value
        case Iterable():
            return ", ".join(map(text_of, value))
    return str(value)


def meter(share: float, text: str) -> str:
    """Return a bar that shows a share."""
    return (
        f'<meter max="1" high="{FULL}" optimum="0" value="{min(share, 1):.3f}"'
        f' aria-label="{escape(text)}"></meter>'
    )


def _line(values: Sequence[float]) -> str:
    """Draw the values as a line as wide as a word."""
    most, step = max(values) or 1, 80 / max(1, len(values) - 1)
    points = " ".join(
        f"{place * step:.1f},{18 - 16 * value / most:.1f}" for place, value in enumerate(values)
    )
    line = f'<polyline points="{points}"/>'
    return f'<svg class="line" viewBox="0 0 80 20" aria-hidden="true">{line}</svg>'
