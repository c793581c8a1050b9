"""The frame of every page: the names of cluster and node, the search, the menu."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from quorate.cli.console import tables
from quorate.cli.console.html import ROOT, Link, Page, anchor

Menu = Sequence[tuple[str, Sequence[Link]]]


class Frame(NamedTuple):
    """What a page is seen in."""

    path: str
    query: Mapping[str, str]
    cluster: str
    node: str
    menu: Menu


def document(page: Page, frame: Frame) -> str:
    """Return a whole document."""
    rows = tables.shown(page.tables, frame.query, frame.path)
    said = page.head or page.lead or page.foot
    nothing = page.empty or ("" if said else "<p>There is nothing here.</p>")
    renewed = " data-renewed" if page.renewed else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(page.title)} - Quorate {escape(frame.cluster[:8])}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{ROOT}/style.css">
<script src="{ROOT}/console.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the page</a>
{_header(frame)}
<nav id="menu" aria-label="Pages">{"".join(_menu(frame.menu, frame.path))}</nav>
<main id="main" tabindex="-1">
<h1>{escape(page.title)}</h1>
{_sign(page)}
{page.head}
<div id="live"{renewed}>{page.lead}{rows or nothing}{page.foot}</div>
</main>
</body>
</html>
"""


def _header(frame: Frame) -> str:
    asked = escape(frame.query.get("q", "")) if frame.path == "search" else ""
    # An id as long as a line is told apart by its beginning.
    whole, short = escape(frame.cluster), escape(frame.cluster[:8])
    cluster = (
        f'<span title="{whole}">cluster {short}</span>' if whole else "<span>no cluster yet</span>"
    )
    return (
        f'<header><a class="brand" href="{ROOT}">Quorate</a>'
        f"{cluster}<span>seen from {escape(frame.node)}</span>"
        f'<form role="search" method="get" action="{ROOT}/search">'
        f'<label class="hidden" for="q">Search a key, a tenant, a client ID, a topic</label>'
        f'<input id="q" type="search" name="q" value="{asked}"'
        ' placeholder="Key, tenant, client ID, topic">'
        "<button>Search</button></form>"
        '<a class="menu" href="#menu">All pages</a></header>'
    )


def _sign(page: Page) -> str:
    if not page.renewed:
        return ""
    text = "This page shows the moment at which it was loaded: without scripts it is not renewed."
    return f'<p id="sign" role="status"></p><noscript><p class="quiet">{text}</p></noscript>'


def _menu(menu: Menu, here: str) -> Iterable[str]:
    for title, links in menu:
        items = "".join(f"<li>{anchor(link, current=link.path == here)}</li>" for link in links)
        current = any(link.path == here for link in links)
        opened = " open" if current or len(links) <= 8 else ""
        yield f"<details{opened}><summary>{escape(title)}</summary><ul>{items}</ul></details>"
