"""The HTML of the pages; all data from a cluster is escaped here."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import quote, urlencode

from quorate.observe.thresholds import FULL
from quorate.plugin.console import time_text

#: How much of a value a cell shows.
_SHOWN = 400


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page; its part above the tables is not refreshed while it is open."""

    #: Whether the rest is.
    renewed: bool = True

    title: str
    tables: Sequence[tuple[str, Sequence[Mapping[str, object]]]]
    head: str = ""
    foot: str = ""


def document(page: Page, menu: Iterable[tuple[str, Iterable[Link]]], root: str, here: str) -> str:
    """Return a whole document with a menu of titles and links."""
    tables = "".join(_table(title, rows, root) for title, rows in page.tables)
    script = f'<script src="{root}/renew.js" defer></script>' if page.renewed else ""
    nothing = "" if page.head or page.foot else "<p>Nothing.</p>"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{escape(page.title)} - Quorate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{root}/style.css">
{script}
</head>
<body>
<a class="skip" href="#main">Skip to the page</a>
<a class="menu" href="#menu">All pages</a>
<nav id="menu" aria-label="Pages">{"".join(_menu(menu, root, here))}</nav>
<main id="main" tabindex="-1">
<h1>{escape(page.title)}</h1>
{page.head}
<div id="live" aria-live="off">{tables or nothing}{page.foot}</div>
</main>
</body>
</html>
"""


def note(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def form(fields: Mapping[str, str], required: Container[str] = (), button: str = "Show") -> str:
    """Return a form that requests the same page with the values of its fields."""
    inputs = "".join(
        f'<label>{escape(name.replace("_", " "))} <input name="{escape(name)}"'
        f' value="{escape(value)}"{" required" if name in required else ""}></label> '
        for name, value in fields.items()
    )
    return f'<form method="get">{inputs}<button>{escape(button)}</button></form>' if inputs else ""


def confirmation_form(fields: Mapping[str, str], button: str = "Do it") -> str:
    """Return a form that posts the values of its fields to the same page."""
    inputs = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
        for name, value in fields.items()
    )
    return f'<form method="post">{inputs}<button class="do">{escape(button)}</button></form>'


def anchor(link: Link, root: str, *, current: bool = False) -> str:
    """Return a link."""
    query = f"?{urlencode(link.query)}" if link.query else ""
    href = escape(f"{root}/{quote(link.path)}{query}" if link.path else f"{root}{query}")
    mark = ' aria-current="page"' if current else ""
    return f'<a href="{href}"{mark}>{escape(link.text)}</a>'


def _menu(menu: Iterable[tuple[str, Iterable[Link]]], root: str, here: str) -> Iterator[str]:
    for title, links in menu:
        items = "".join(
            f"<li>{anchor(link, root, current=link.path == here)}</li>" for link in links
        )
        yield f"<h2>{escape(title)}</h2><ul>{items}</ul>"


def _table(title: str, rows: Sequence[Mapping[str, object]], root: str) -> str:
    if not rows:
        return ""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f'<th scope="col">{escape(name.replace("_", " "))}</th>' for name in columns)
    body = "".join(
        f"<tr>{''.join(_cell(name, row.get(name), root) for name in columns)}</tr>" for row in rows
    )
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return (
        f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(name: str, value: object, root: str) -> str:
    bad = isinstance(value, Bad)
    kind = "bad" if bad else "number" if isinstance(value, (int, float)) else ""
    if isinstance(value, bool):
        kind = ""
    if isinstance(value, Links):
        kind = "links"
    return f"<td{f' class={kind}' if kind else ''}>{_shown(name, value, root)}</td>"


def _shown(name: str, value: object, root: str) -> str:
    match value:
        case Bad(inner):
            return f'<span aria-label="look at this">⚠</span> {_shown(name, inner, root)}'
        case Strong(inner):
            return f"<strong>{_shown(name, inner, root)}</strong>"
        case Link():
            return anchor(value, root)
        case Links(links):
            return " · ".join(anchor(each, root) for each in links)
        case Share(used, of):
            text = f"{used:,.10g} of {of:,.10g}" if of else f"{used:,.10g}"
            return f"{_meter(used / of)} {text}" if of else text
        case Trend(values):
            return f"{_line(values)} {values[-1]:,.10g}" if values else ""
        case int() if name.endswith("_ms") and value > 1 << 40:
            return escape(time_text(value))
    text = text_of(value)
    return escape(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


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


def _meter(share: float) -> str:
    return f'<meter max="1" high="{FULL}" optimum="0" value="{min(share, 1):.3f}"></meter>'


def _line(values: Sequence[float]) -> str:
    """Draw the values as a line as wide as a word."""
    most, step = max(values) or 1, 80 / max(1, len(values) - 1)
    points = " ".join(
        f"{place * step:.1f},{18 - 16 * value / most:.1f}" for place, value in enumerate(values)
    )
    return f'<svg viewBox="0 0 80 20" aria-hidden="true"><polyline points="{points}"/></svg>'
