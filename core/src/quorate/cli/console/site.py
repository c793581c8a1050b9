"""Answers browsers, with the rights of the token that they show."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Self, cast
from urllib.parse import quote

import click

from quorate.cli.console import activity, menu, tables
from quorate.cli.console.actions import OF_CLUSTER, Actions, backup_into
from quorate.cli.console.activity import ActivityPages
from quorate.cli.console.cluster import Cluster
from quorate.cli.console.html import Link, Page, anchor, form, note
from quorate.cli.console.layout import Frame, document
from quorate.cli.console.links import ROW, References
from quorate.cli.console.pairs import pairs
from quorate.cli.console.printed import AFTER, Commands, Words
from quorate.cli.console.refusals import no_page, unanswered, unknown_caller
from quorate.cli.console.rows import RowPages
from quorate.cli.console.search import search
from quorate.cli.failures import Failure
from quorate.cli.installed import path_of
from quorate.observe.http import Answer, Request
from quorate.plugin.advanced import ConsoleAction, ConsolePage

if TYPE_CHECKING:
    from quorate.client import Client, Tls
    from quorate.config import Settings
    from quorate.config.sections import ConsoleSection
    from quorate.plugin.catalog import Catalog

_log = logging.getLogger(__name__)

#: A row of a table.
Row = Mapping[str, object]

#: A page runs scripts of its own site only.
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    # A browser says which page has sent a form only if it may.
    "Referrer-Policy": "same-origin",
}
_FILES: Final = {"style.css": "text/css", "console.js": "text/javascript"}
#: What a page accepts that renews itself: its reader is not asked for a token.
_RENEWED: Final = "renewed"
#: Who is nobody: where callers are asked for a token, this is none.
_NOBODY: Final = "nobody"
#: For how many callers connections are kept.
_CALLERS: Final = 8
_TIMEOUT_S: Final = 5.0


class ConsoleSite:
    """The console of one node, which asks the cluster through it."""

    def __init__(
        self,
        catalog: Catalog,
        address: str,
        tls: Tls | None,
        section: ConsoleSection | None = None,
        *,
        node: str = "",
    ) -> None:
        self._node: Final = node or address
        self._address: Final = address
        self._tls: Final = tls
        self._activity: Final = ActivityPages()
        self._commands: Final = Commands(catalog)
        #: The id of the cluster, once it is known.
        self._named = ""
        #: By their tokens, the most recently used one last.
        self._clients: Final[dict[str, Client]] = {}
        #: How many requests use each of them.
        self._uses: Final = Counter[str]()
        self._lock: Final = threading.Lock()
        self._resources: Final = {
            each.family.replace(".", "/"): each
            for plugin in catalog.declared.values()
            for each in plugin.resources
        }
        pages = catalog.extensions.get("cluster.console_pages", {})
        self._pages: Final = {
            f"pages/{name}": cast(ConsolePage, each) for name, each in pages.items()
        }
        acts = section is not None and section.actions
        self._actions: Final = Actions(
            self._commands, dict(_actions(self._pages, section)) if acts else {}
        )
        self._cluster: Final = Cluster(self._actions)
        references = References(self._resources.values())
        self._references: Final = references
        typed = {
            each.family: " ".join(path_of(plugin, each))
            for plugin in catalog.declared.values()
            for each in plugin.resources
        }
        self._rows: Final = RowPages(references, typed)
        groups = catalog.extensions.get(menu.POINT, {})
        self._menu: Final = menu.of(
            self._pages, self._resources, groups, actions=bool(self._actions)
        )

    @classmethod
    def of(cls, catalog: Catalog, settings: Settings) -> Self:
        """Return the console of a node."""
        from quorate.client import Tls

        ca = settings.tls.ca_file
        tls = Tls(ca=ca) if settings.tls.enabled and ca is not None else None
        return cls(catalog, settings.node.address, tls, settings.console, node=settings.node.name)

    def close(self) -> None:
        """End the connections."""
        with self._lock:
            while self._clients:
                self._clients.popitem()[1].close()

    def __call__(self, request: Request) -> Answer:
        """Answer a request."""
        from quorate.client import InvalidError, QuorateError, RejectedError

        path = request.path.strip("/")
        if path in _FILES:
            content = files(__package__).joinpath(path).read_bytes()
            return Answer(HTTPStatus.OK, content, f"{_FILES[path]}; charset=utf-8", _HEADERS)
        status = HTTPStatus.OK
        try:
            page = self._page(path, request)
            if page is None:
                status = HTTPStatus.NOT_FOUND
                page = no_page(path)
        except RejectedError as error:
            if error.code == "UNAUTHENTICATED":
                if request.password:
                    self._forget(request.password)
                return self._unknown(error, path, request)
            denied = error.code == "PERMISSION_DENIED"
            status = HTTPStatus.FORBIDDEN if denied else HTTPStatus.BAD_REQUEST
            page = Page(title="This was refused", foot=note(str(error)))
        except (Failure, InvalidError, click.ClickException, click.Abort) as error:
            status = HTTPStatus.BAD_REQUEST
            text = error.format_message() if isinstance(error, click.ClickException) else str(error)
            page = Page(title="This was refused", foot=note(text), renewed=False)
        except QuorateError as error:
            status = HTTPStatus.SERVICE_UNAVAILABLE
            page = unanswered(error, self._node, path, request.query, stale=self._lists(path))
        except Exception as error:  # noqa: BLE001 - a page says so, and nothing else is harmed
            _log.exception("the page %s of the console failed", path)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            text = f"{type(error).__name__}: {error}; the log of this node says where"
            page = Page(title="This page failed", foot=note(text))
        if request.form is not None:
            # A refresh must not submit the form again.
            page = replace(page, renewed=False)
        page = replace(page, tables=tables.arranged(page.tables, request.query))
        if request.query.get(tables.CSV) and status is HTTPStatus.OK:
            name = path.replace("/", "-") or "overview"
            headers = {"Content-Disposition": f'attachment; filename="{quote(name)}.csv"'}
            content = tables.csv_of(page.tables)
            return Answer(status, content, "text/csv; charset=utf-8", headers)
        frame = Frame(path, request.query, self._named, self._node, self._menu)
        text = document(page, frame)
        return Answer(status, text.encode(), "text/html; charset=utf-8", _HEADERS)

    def _unknown(self, error: Exception, path: str, request: Request) -> Answer:
        """Ask a caller for a token; the menu is for those who may see something."""
        page = unknown_caller(error, given=bool(request.password))
        text = document(page, Frame(path, {}, self._named, self._node, ()))
        asks = {"WWW-Authenticate": 'Basic realm="Quorate: the token is the password"'}
        if _RENEWED in request.accept:
            asks = {}
        kind = "text/html; charset=utf-8"
        return Answer(HTTPStatus.UNAUTHORIZED, text.encode(), kind, {**_HEADERS, **asks})

    def _lists(self, path: str) -> bool:
        """Return whether a page lists rows that a replica alone can answer."""
        resource = self._resources.get(path)
        return path == "pairs" or (resource is not None and self._rows.is_stale(resource))

    def _page(self, path: str, request: Request) -> Page | None:
        from quorate.client import QuorateError

        with self._client(request.password) as client:
            page = self._asked(client, path, request)
            if not self._named:
                # It never changes; a page does not depend on it.
                with suppress(QuorateError):
                    self._named = client.topology().cluster_id.hex()
            return page

    def _asked(self, client: Client, path: str, request: Request) -> Page | None:
        if path.startswith("actions/"):
            return self._actions.page(client, path, request)
        if request.form is not None:
            return None
        match path.split("/"):
            case [""]:
                return self._cluster.overview(client, request.query)
            case ["map"]:
                return self._cluster.map(client)
            case ["nodes", name]:
                return self._cluster.node(client, name, request.query)
            case ["search"]:
                return search(client, self._references, self._rows, request.query.get("q", ""))
            case ["pairs"]:
                return pairs(client, request.query)
            case ["alarms"]:
                return self._cluster.alarms(client)
            case ["rates"]:
                return self._activity.rates(client)
            case ["slow-writes"]:
                return activity.slow_writes(client)
            case ["changes"]:
                return activity.changes(client, request.query)
            case ["actions"] if self._actions:
                return Page(title="Actions", head=self._actions.links())
            case ["shards", group, number]:
                return self._cluster.shard(client, f"{group}/{number}")
            case ["controllers"]:
                return self._cluster.controllers(client)
            case ["quotas"]:
                return self._cluster.quotas(client)
        if (page := self._pages.get(path)) is not None:
            return self._of_plugin(client, path, page, request.query)
        if (resource := self._resources.get(path)) is not None:
            return self._rows.list(client, resource, request.query)
        above, _, last = path.rpartition("/")
        if last == ROW and (resource := self._resources.get(above)) is not None:
            kind = self._references.kinds.get(resource.family)
            return None if kind is None else self._rows.row(client, kind, request.query)
        return None

    def _of_plugin(
        self, client: Client, path: str, page: ConsolePage, query: Mapping[str, str]
    ) -> Page:
        """Return a page of a plugin: the output of its commands, and links to its actions."""
        from quorate.client import InvalidError, RejectedError

        prefix = f"{path.removeprefix('pages/')}/"
        words = {title: Words(each) for title, each in page.tables.items()}
        given: dict[str, str] = {}
        for each in words.values():
            given |= {name: query.get(name) or each.defaults.get(name, "") for name in each.names}
        tables: list[tuple[str, Sequence[Row]]] = []
        foot = ""
        for title, each in words.items():
            if not all(given[name] or name in each.defaults for name in each.names):
                continue
            try:
                printed = self._commands.run(client, each.of(given))
            except (Failure, InvalidError, RejectedError, click.ClickException) as error:
                if not tables or getattr(error, "code", "") == "UNAUTHENTICATED":
                    raise
                # The others are shown all the same.
                foot += note(f"{title}: {error}")
                continue
            rows = _with_links(printed.rows, path, words.values(), given)
            tables.append((title, self._actions.offered_by_columns(rows, prefix)))
            if printed.sentences and AFTER in each.options:
                last = str(printed.rows[-1][each.arguments[-1]])
                more = anchor(Link("More", path, {**given, AFTER: last}))
                foot += f"<p>{more}</p>"
            else:
                foot += "".join(map(note, printed.sentences))
        foot += self._actions.links(prefix)
        return Page(title=page.title, tables=tables, head=form(given), foot=foot)

    def _forget(self, token: str) -> None:
        """Keep no connection for a token that is not accepted."""
        with self._lock:
            client = None if self._uses[token] else self._clients.pop(token, None)
        if client is not None:
            client.close()

    @contextmanager
    def _client(self, token: str) -> Iterator[Client]:
        """Use the client of a token; meanwhile it is not closed to make room for others."""
        from quorate.client import Client

        with self._lock:
            client = self._clients.pop(token, None)
            if client is None:
                idle = [each for each in self._clients if not self._uses[each]]
                for oldest in idle[: max(0, len(self._clients) - _CALLERS + 1)]:
                    self._clients.pop(oldest).close()
                client = Client(
                    self._address, tls=self._tls, token=token or _NOBODY, timeout_s=_TIMEOUT_S
                )
            self._clients[token] = client
            self._uses[token] += 1
        try:
            yield client
        finally:
            with self._lock:
                self._uses[token] -= 1
                if not self._uses[token]:
                    del self._uses[token]


def _actions(
    pages: Mapping[str, ConsolePage], section: ConsoleSection | None
) -> Iterator[tuple[str, ConsoleAction]]:
    yield from OF_CLUSTER.items()
    if section is not None and section.backup_dir is not None:
        yield "backup", backup_into(section.backup_dir)
    for path, page in pages.items():
        for verb, action in page.actions.items():
            yield f"{path.removeprefix('pages/')}/{verb}", action


def _with_links(
    rows: Sequence[Row], path: str, tables: Iterable[Words], given: Mapping[str, str]
) -> Sequence[Row]:
    """Return rows with links to the tables of the page whose arguments are among their columns."""
    names = next(
        (
            words.arguments
            for words in tables
            if words.arguments and rows and {*words.arguments} <= rows[0].keys()
        ),
        (),
    )
    if not names:
        return rows

    def linked(row: Row) -> Row:
        asked = {name: str(row[name]) for name in names}
        if asked.items() <= given.items():
            return row
        return {**row, names[-1]: Link(asked[names[-1]], path, asked)}

    return [linked(row) for row in rows]
