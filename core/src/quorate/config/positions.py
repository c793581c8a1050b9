"""The line of every key in a TOML document."""

import re

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable, Item, Key, Null, Table

#: Keys and array indices from the root of the document to a value.
Path = tuple[str | int, ...]

#: Text between two entries: space, separators, comments.
_GAP = re.compile(r"(?:[\s,]|#[^\n]*)*")


def lines(text: str) -> dict[Path, int]:
    """Return the line, counted from 1, of every table, key and array element of the document.

    The line of a table is that of its header, or else of its first key. A document that tomlkit
    cannot read has no lines, even if other parsers accept it.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError:
        return {}
    walk = _Walk(text)
    walk.container(document, ())
    return walk.lines


class _Walk:
    """Walks through text and parsed document in step; both have the same order."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._text = text
        self._at = 0
        self._line = 1

    def container(self, container: Container, path: Path, dotted: int = 0) -> None:
        """Visit the entries; `dotted` is the length of the prefix of each key on its line."""
        for key, item in container.body:
            if key is not None and not isinstance(item, Null):
                self._entry(key, item, (*path, key.key), dotted)

    def _entry(self, key: Key, item: Item, path: Path, dotted: int) -> None:
        width = dotted + len(key.as_string())
        if isinstance(item, AoT):
            for index, table in enumerate(item.body, self._seen(path)):
                self._gap()
                self._mark(path)
                self._header((*path, index))
                self.container(table.value, (*path, index))
        elif isinstance(item, Table) and not key.is_dotted() and not item.is_super_table():
            self._header(path)
            self.container(item.value, path)
        elif isinstance(item, Table):
            self._gap()
            self._mark(path)
            self.container(item.value, path, width + len(".") if key.is_dotted() else 0)
        else:
            self._gap()
            self._mark(path)
            self._move(self._at + width + len(key.sep))
            self._value(item, path)

    def _seen(self, path: Path) -> int:
        """Count the elements seen of an array of tables, which may continue after other tables."""
        return sum(1 for known in self.lines if known[:-1] == path and isinstance(known[-1], int))

    def _header(self, path: Path) -> None:
        self._gap()
        self.lines[path] = self._line
        end = self._text.find("\n", self._at)
        self._move(len(self._text) if end < 0 else end)

    def _value(self, item: Item, path: Path) -> None:
        end = self._at + len(item.as_string())
        if isinstance(item, InlineTable):
            self._move(self._at + len("{"))
            self.container(item.value, path)
        elif isinstance(item, Array):
            self._move(self._at + len("["))
            for index, element in enumerate(item):
                self._gap()
                self._mark((*path, index))
                self._value(element, (*path, index))
        self._move(end)

    def _gap(self) -> None:
        match = _GAP.match(self._text, self._at)
        if match is not None:
            self._move(match.end())

    def _mark(self, path: Path) -> None:
        self.lines.setdefault(path, self._line)

    def _move(self, to: int) -> None:
        self._line += self._text.count("\n", self._at, to)
        self._at = to
