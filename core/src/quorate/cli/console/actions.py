"""The actions of operators in the console: commands, each shown and confirmed before it runs."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from quorate.cli.console.html import Link, Links, Page, anchor, confirmation_form, form, note
from quorate.cli.console.printed import Commands, Words, line_of
from quorate.cli.console.tables import plain
from quorate.cli.tables import line_of as one_line
from quorate.observe.http import Request
from quorate.plugin.advanced import ConsoleAction
from quorate.v1 import auth_pb2

if TYPE_CHECKING:
    from quorate.client import Client

_log = logging.getLogger(__name__)

Row = Mapping[str, object]

#: How long a confirmation is good, and how many may wait for it.
_GOOD_S: Final = 600.0
_MOST: Final = 256
#: The field of a form with its confirmation.
_CONFIRMATION: Final = "confirmation"
#: A value that the console makes itself: the time.
_NOW: Final = "now"
_STATUS: Final = "/quorate.v1.AuthService/Status"


def _action(title: str, command: str, plan: str = "") -> ConsoleAction:
    return ConsoleAction(title=title, command=command.split(), plan=plan.split())


#: The actions on the cluster itself, of no plugin.
OF_CLUSTER: Final[Mapping[str, ConsoleAction]] = {
    "drain": _action("Drain a node", "node drain --no-wait {node}", "node drain --dry-run {node}"),
    "undrain": _action("Accept replicas on a node again", "node undrain {node}", "node list"),
    "transfer": _action(
        "Transfer the leadership of a shard", "member transfer {shard} {node}", "shard get {shard}"
    ),
    "move": _action(
        "Move a replica",
        "shard move --no-wait {shard} {node} {target}",
        "shard move --dry-run {shard} {node} {target}",
    ),
    "split": _action(
        "Split a shard",
        "shard split --no-wait --into={into} {shard}",
        "shard split --dry-run --into={into} {shard}",
    ),
    "cancel-split": _action("Cancel a split", "shard split --cancel {shard}", "shard list"),
    "pause": _action("Pause a controller", "controller pause {controller}"),
    "resume": _action("Resume a controller", "controller resume {controller}"),
    "pause-moves": _action(
        "Pause moves of replicas", "controller pause core.placement", "shard balance --dry-run"
    ),
    "resume-moves": _action(
        "Resume moves of replicas", "controller resume core.placement", "shard balance --dry-run"
    ),
    "change": _action(
        "Change a quota",
        "tenant quota update --rows={rows} --bytes={bytes} --commands-per-s={commands_per_s} "
        "{kind} {name}",
        "tenant quota get {kind} {name}",
    ),
    "finish-upgrade": _action("Finish an upgrade", "upgrade finish --yes", "upgrade check"),
}


def backup_into(directory: Path) -> ConsoleAction:
    """Return the action that takes a backup into a new directory below one on this node."""
    return ConsoleAction(title="Take a backup", command=("backup", f"{directory}/{{{_NOW}}}"))


class _Confirmable(NamedTuple):
    """An action shown to one reader, to be confirmed once."""

    password: str
    path: str
    values: tuple[tuple[str, str], ...]
    until_s: float


class Actions:
    """The pages of actions, each below `actions/`; without actions there is no page."""

    def __init__(self, commands: Commands, actions: Mapping[str, ConsoleAction]) -> None:
        self._commands: Final = commands
        self._actions: Final = {f"actions/{path}": each for path, each in actions.items()}
        #: By the token in their forms, the oldest first.
        self._shown: Final[dict[str, _Confirmable]] = {}
        self._lock: Final = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._actions)

    def offered(self, rows: Iterable[Row], *verbs: str, **more: str) -> list[Row]:
        """Return rows with links to their actions; `more` has values common to all rows."""
        actions = self._of(verbs)
        if not actions:
            return [*rows]
        return [
            {**row, "do": Links([_link(*each, {**row, **more}) for each in actions])}
            for row in rows
        ]

    def offered_by_columns(self, rows: Sequence[Row], prefix: str) -> Sequence[Row]:
        """Return rows with links to the actions that need nothing but their columns."""
        verbs = [
            path.removeprefix("actions/")
            for path, action in self._actions.items()
            if path.startswith(f"actions/{prefix}")
            and rows
            and set() != {*Words(action.command).arguments} <= rows[0].keys()
        ]
        return self.offered(rows, *verbs)

    def _of(self, verbs: Iterable[str]) -> list[tuple[str, str, ConsoleAction]]:
        paths = {each.rpartition("/")[2]: f"actions/{each}" for each in verbs}
        return [
            (verb, path, self._actions[path])
            for verb, path in paths.items()
            if path in self._actions
        ]

    def links(self, prefix: str = "") -> str:
        """Return links to the actions with paths that begin with a prefix."""
        items = "".join(
            f"<li>{anchor(Link(action.title, path))}</li>"
            for path, action in self._actions.items()
            if path.startswith(f"actions/{prefix}")
        )
        return f"<ul>{items}</ul>" if items else ""

    def page(self, client: Client, path: str, request: Request) -> Page | None:
        """Show the effect of an action, or run it once confirmed; None: no such action."""
        action = self._actions.get(path)
        if action is None:
            return None
        found = client.call(_STATUS, auth_pb2.AuthStatusRequest(), auth_pb2.AuthStatus, read=True)
        if not found.enabled:
            text = (
                "Every client that reaches this node could act here: the console offers no actions"
                " until the cluster authenticates callers. See quorate auth enable."
            )
            return Page(title=action.title, head=note(text), renewed=False)
        if request.form is None:
            return self._plan(client, action, path, request, found.caller)
        return self._done(client, action, path, request, found.caller)

    def _plan(
        self, client: Client, action: ConsoleAction, path: str, request: Request, caller: str
    ) -> Page:
        words = Words(action.command)
        values = _values(words, request.query)
        help = self._commands.help(action.command).partition("\n\n")[0]
        head = note(" ".join(help.split()))
        asked = {name: value for name, value in values.items() if name != _NOW}
        if asked:
            head += form(asked, required=words.arguments, button="Show what it does")
        if not all(values[name] for name in words.arguments):
            return Page(title=action.title, head=head, renewed=False)
        tables: list[tuple[str, Sequence[Row]]] = []
        if action.plan:
            plan = Words(action.plan).of(values)
            printed = self._commands.run(client, plan)
            tables.append((line_of(plan), printed.rows))
            if not (printed.rows or printed.sentences):
                head += note(f"{line_of(plan)} shows nothing.")
            head += "".join(map(note, printed.sentences))
        command = escape(line_of(words.of(values)))
        whom = escape(caller or "an unnamed caller")
        head += f"<p>This runs, as <strong>{whom}</strong>:</p><pre>{command}</pre>"
        confirmation = self._show(request.password, path, values)
        foot = confirmation_form({**values, _CONFIRMATION: confirmation})
        return Page(title=action.title, tables=tables, head=head, foot=foot, renewed=False)

    def _done(
        self, client: Client, action: ConsoleAction, path: str, request: Request, caller: str
    ) -> Page:
        given = request.form or {}
        words = Words(action.command)
        values = {name: given.get(name, "") for name in words.names}
        if not self._confirmed(given.get(_CONFIRMATION, ""), request.password, path, values):
            text = "Nothing was done: this page is too old, or was confirmed before."
            again = anchor(Link("Look at it again", path, values))
            return Page(title=action.title, head=note(text) + f"<p>{again}</p>", renewed=False)
        command = words.of(values)
        shown = one_line(line_of(command).encode())
        _log.info("console: %s at %s runs %s", caller, request.address, shown)
        printed = self._commands.run(client, command)
        said = printed.sentences or ["Done."]
        return Page(
            title=action.title,
            tables=[("", printed.rows)],
            head="".join(map(note, said)),
            renewed=False,
        )

    def _show(self, password: str, path: str, values: Mapping[str, str]) -> str:
        """Return a token that confirms the shown action once."""
        confirmation = secrets.token_urlsafe(24)
        with self._lock:
            while len(self._shown) >= _MOST:
                del self._shown[next(iter(self._shown))]
            self._shown[confirmation] = _Confirmable(
                password, path, tuple(sorted(values.items())), time.monotonic() + _GOOD_S
            )
        return confirmation

    def _confirmed(
        self, confirmation: str, password: str, path: str, values: Mapping[str, str]
    ) -> bool:
        with self._lock:
            shown = self._shown.pop(confirmation, None)
        asked = (password, path, tuple(sorted(values.items())))
        return shown is not None and shown.until_s >= time.monotonic() and shown[:3] == asked


def _values(words: Words, query: Mapping[str, str]) -> dict[str, str]:
    values = {name: query.get(name, "") for name in words.names}
    if _NOW in values:
        values[_NOW] = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return values


def _link(verb: str, path: str, action: ConsoleAction, row: Row) -> Link:
    words = Words(action.command)
    named = {name: plain(row[name]) for name in words.names if row.get(name)}
    return Link(verb.replace("-", " "), path, named)
