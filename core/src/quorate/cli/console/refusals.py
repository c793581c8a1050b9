"""The pages in the place of one that cannot be shown: what is known, and the way on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from quorate.cli.console.html import Link, Page, anchor, note

#: The field of a query that asks for rows as a replica has them, without a majority.
STALE: Final = "stale"
_OLD: Final = "These rows are as a replica near this node has them: they may be old."
_BACK: Final = f"<p>{anchor(Link('Back to the overview', ''))}</p>"


def no_page(path: str) -> Page:
    """Return the page of an address at which nothing is."""
    text = f"Nothing is at {path[:80]}: it was deleted, or the address is mistyped."
    return Page(title="There is no such page", head=note(text) + _BACK, renewed=False)


def unanswered(
    error: Exception, node: str, path: str, query: Mapping[str, str], *, stale: bool
) -> Page:
    """Return the page in the place of one for which no majority answers; it is tried again.

    With `stale` the same rows can be had as a replica has them.
    """
    known = (
        f"{node} runs and has made this page. The overview and the map show which nodes answer it, "
        "and which shards have a leader."
    )
    unknown = (
        "Not known is what this page would show: its shard has no leader that a majority of its "
        "replicas follows, or that leader did not answer in time. What was acknowledged is kept. "
        "This page is tried again every three seconds."
    )
    ways = [Link("Overview", ""), Link("Map", "map"), Link("What to do", "alarms")]
    if stale and not query.get(STALE):
        ways.append(
            Link("The rows as a replica has them, maybe old", path, {**query, STALE: "yes"})
        )
    items = "".join(f"<li>{anchor(each)}</li>" for each in ways)
    lead = f"{note(str(error))}{note(known)}{note(unknown)}<ul>{items}</ul>"
    return Page(title="The cluster does not answer", lead=lead)


def unknown_caller(error: Exception, *, given: bool) -> Page:
    """Return the page for a caller without a token, or with one that is not accepted any more."""
    text = (
        "The token that your browser has given is not accepted: it has ended, was revoked, or was "
        "never issued."
        if given
        else "This cluster asks who calls, and your browser has given no token."
    )
    how = (
        "Load the page again, and give a token as the password, with any name. An administrator "
        "issues one:"
    )
    lead = (
        f"{note(text)}{note(f'The cluster says: {error}')}{note(how)}"
        "<p><code>quorate auth token create USER --file FILE</code></p>"
        f"{note('Until then nothing is shown, and nothing was changed.')}{_BACK}"
    )
    return Page(title="Who are you?", lead=lead, renewed=False)


def old_note(query: Mapping[str, str]) -> str:
    """Return a note above rows that may be old; nothing above others."""
    return f'<p class="verdict bad">{_OLD}</p>' if query.get(STALE) else ""
