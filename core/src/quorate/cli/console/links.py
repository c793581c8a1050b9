"""What a row belongs to, and what belongs to it: found by the keys of resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from quorate.cli.console.html import Link
from quorate.plugin.resource import Resource, bind
from quorate.plugin.resource.binding import Binding

#: The page of a row is below that of its list.
ROW: Final = "row"


class Kind(NamedTuple):
    """A resource whose rows have a page each."""

    binding: Binding
    #: The page of its list.
    path: str
    #: The fields by which other rows name one of these, the most telling one last.
    names: tuple[str, ...]

    def link(self, parts: Mapping[str, object], text: str) -> Link:
        """Return a link to the row with this key, given by the names of its parts."""
        return Link(text, f"{self.path}/{ROW}", {name: str(each) for name, each in parts.items()})


class References:
    """Finds the rows that the fields of a row name."""

    def __init__(self, resources: Iterable[Resource[Any]]) -> None:
        bindings = [bind(each) for each in resources]
        kinds = [_kind(each) for each in bindings if "Get" in each.asked and each.parts]
        #: By their families.
        self.kinds: Final = {each.binding.resource.family: each for each in kinds}
        self._lists: Final = [each for each in bindings if "List" in each.asked]

    def of(self, binding: Binding, row: Mapping[str, object]) -> dict[str, Link]:
        """Return links of columns of a row to the rows that they name."""
        found: dict[str, Link] = {}
        for name, value in row.items():
            if not isinstance(value, str) or not value:
                continue
            kind = self._named(binding, name, row)
            if kind is not None:
                parts = zip(kind.binding.parts, (row[each] for each in kind.names), strict=True)
                found[name] = kind.link(dict(parts), value)
        return found

    def _named(self, binding: Binding, name: str, row: Mapping[str, object]) -> Kind | None:
        own = binding.resource.family.partition(".")[0]
        fitting = [
            each
            for each in self.kinds.values()
            if each.names[-1] == name
            and each.binding is not binding
            and each.binding.resource.family != binding.resource.family
            and all(row.get(other) for other in each.names)
        ]
        # A plugin means its own rows first.
        fitting.sort(key=lambda each: not each.binding.resource.family.startswith(f"{own}."))
        return fitting[0] if fitting else None

    def below(
        self, kind: Kind, parts: Mapping[str, object]
    ) -> Iterator[tuple[Binding, Mapping[str, str]]]:
        """Yield the lists of rows that name a row, with what they are asked for."""
        named = dict(zip(kind.names, map(str, parts.values()), strict=True))
        for each in self._lists:
            fields = each.asked["List"][0].request.DESCRIPTOR.fields_by_name
            if each.resource.family != kind.binding.resource.family and named.keys() <= {*fields}:
                yield each, named


def _kind(binding: Binding) -> Kind:
    *others, last = binding.parts
    noun = binding.noun.replace(" ", "_")
    telling = noun if last in ("name", "id", "number") else last
    path = binding.resource.family.replace(".", "/")
    return Kind(binding, path, (*others, telling))
