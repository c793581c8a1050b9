"""Answers browsers, with the rights of the token that they show."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Self, cast

from quorate.cli.console.cluster import Cluster
from quorate.cli.console.html import Link, Page, document, note
from quorate.cli.console.rows import rows_page, title_of
from quorate.observe.http import Answer, Request
from quorate.plugin import ConsolePage

if TYPE_CHECKING:
    from quorate.client import Client, Tls
    from quorate.config import Settings
    from quorate.plugin.catalog import Catalog

_log = logging.getLogger(__name__)

#: A row of a table.
Row = Mapping[str, object]

ROOT: Final = "/console"
#: A page runs what is of its own site, and nothing else.
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';"
    " connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
}
_FILES: Final = {"style.css": "text/css", "renew.js": "text/javascript"}
#: Who is nobody: where callers are asked for a token, this is none.
_NOBODY: Final = "nobody"
#: For how many callers connections are kept.
_CALLERS: Final = 8
_TIMEOUT_S: Final = 5.0


class _Printed:
    """What a command asks with, and prints on."""

    def __init__(self, client: Client) -> None:
        self._client: Final = client
        self.rows: Final[list[Row]] = []

    def client(self) -> Client:
        return self._client

    def print(self, rows: Iterable[Row]) -> None:
        self.rows.extend(rows)


class ConsoleSite:
    """The console of one node, which asks the cluster through it."""

    def __init__(self, catalog: Catalog, address: str, tls: Tls | None) -> None:
        self._catalog: Final = catalog
        self._address: Final = address
        self._tls: Final = tls
        self._cluster: Final = Cluster()
        #: By their tokens, the one that was used last at the end.
        self._clients: Final[dict[str, Client]] = {}
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

    @classmethod
    def of(cls, catalog: Catalog, settings: Settings) -> Self:
        """Return the console of a node."""
        from quorate.client import Tls

        ca = settings.tls.ca_file
        tls = Tls(ca=ca) if settings.tls.enabled and ca is not None else None
        return cls(catalog, settings.node.address, tls)

    def close(self) -> None:
        """End the connections."""
        with self._lock:
            while self._clients:
                self._clients.popitem()[1].close()

    def __call__(self, request: Request) -> Answer:
        """Answer a request."""
        from quorate.client import QuorateError, RejectedError

        path = request.path.strip("/")
        if path in _FILES:
            content = files(__package__).joinpath(path).read_bytes()
            return Answer(HTTPStatus.OK, content, f"{_FILES[path]}; charset=utf-8", _HEADERS)
        status = HTTPStatus.OK
        try:
            page = self._page(path, request)
            if page is None:
                status = HTTPStatus.NOT_FOUND
                page = Page(title="There is no such page", tables=[])
        except RejectedError as error:
            if error.code == "UNAUTHENTICATED":
                if request.password:
                    self._forget(request.password)
                headers = {"WWW-Authenticate": 'Basic realm="Quorate: the token is the password"'}
                return Answer(HTTPStatus.UNAUTHORIZED, f"{error}\n".encode(), headers=headers)
            denied = error.code == "PERMISSION_DENIED"
            status = HTTPStatus.FORBIDDEN if denied else HTTPStatus.BAD_REQUEST
            page = Page(title="This was refused", tables=[], foot=note(str(error)))
        except QuorateError as error:
            status = HTTPStatus.SERVICE_UNAVAILABLE
            page = Page(title="The cluster does not answer", tables=[], foot=note(str(error)))
        except Exception as error:  # noqa: BLE001 - a page says so, and nothing else is harmed
            _log.exception("the page %s of the console failed", path)
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            text = f"{type(error).__name__}: {error}; the log of this node says where"
            page = Page(title="This page failed", tables=[], foot=note(text))
        text = document(page, self._menu(), ROOT, path)
        return Answer(status, text.encode(), "text/html; charset=utf-8", _HEADERS)

    def _page(self, path: str, request: Request) -> Page | None:
        client = self._client(request.password)
        match path.split("/"):
            case [""]:
                return self._cluster.overview(client)
            case ["shards", group, number]:
                return self._cluster.shard(client, f"{group}/{number}")
            case ["controllers"]:
                return self._cluster.controllers(client)
            case ["quotas"]:
                return self._cluster.quotas(client)
        if (page := self._pages.get(path)) is not None:
            printed = (self._printed(client, each) for each in page.tables.values())
            return Page(title=page.title, tables=list(zip(page.tables, printed, strict=True)))
        if (resource := self._resources.get(path)) is not None:
            return rows_page(client, resource, request.query, ROOT)
        return None

    def _printed(self, client: Client, words: Sequence[str]) -> list[Row]:
        """Return what a command of a plugin prints."""
        name, *arguments = words
        [command] = [
            each
            for plugin in self._catalog.declared.values()
            for each in plugin.cli_commands
            if each.name == name
        ]
        printed = _Printed(client)
        command.load().main([*arguments], prog_name=name, obj=printed, standalone_mode=False)
        return printed.rows

    def _menu(self) -> Iterator[tuple[str, Sequence[Link]]]:
        yield (
            "Cluster",
            [
                Link("Nodes and shards", ""),
                Link("Controllers", "controllers"),
                Link("Quotas", "quotas"),
            ],
        )
        if self._pages:
            yield "Views", [Link(page.title, path) for path, page in self._pages.items()]
        by_plugin: dict[str, list[Link]] = {}
        for path, resource in sorted(self._resources.items()):
            by_plugin.setdefault(path.partition("/")[0], []).append(
                Link(title_of(resource).capitalize(), path)
            )
        yield from ((name.replace("_", " "), links) for name, links in by_plugin.items())

    def _forget(self, token: str) -> None:
        """Keep no connection for a token that is not accepted."""
        with self._lock:
            client = self._clients.pop(token, None)
        if client is not None:
            client.close()

    def _client(self, token: str) -> Client:
        from quorate.client import Client

        with self._lock:
            client = self._clients.pop(token, None)
            if client is None:
                if len(self._clients) >= _CALLERS:
                    oldest = next(iter(self._clients))
                    self._clients.pop(oldest).close()
                client = Client(
                    self._address, tls=self._tls, token=token or _NOBODY, timeout_s=_TIMEOUT_S
                )
            self._clients[token] = client
            return client
