"""The typed clients of a plugin's row classes, as source: keys, conditions and verbs by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from quorate.plugin.rows.plugin import Plugin, RowResource
from quorate.plugin.rows.row import VerbOf
from quorate.plugin.rows.shapes import MISSING, PLAIN, Field
from quorate.plugin.rows.types import Role

_HEAD: Final = '''\
"""The clients of the rows of {name}. Written by `quorate plugin protos` from their classes."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator

from quorate.client import Blocking, Client, RecordChange, blocking, iterating
from quorate.client.rows import UNSET, Rows, Unset

{imports}
from {package}.v1 import rows_pb2 as pb
'''
_TIMEOUT: Final = "timeout_s: float | None = None"


def clients_of(app: Plugin, package: str) -> str:
    """Return the source of the module with the clients of all classes."""
    used: dict[str, set[str]] = {}
    bodies = [line for each in app.resources for line in _client(each, used)]
    imports = [
        f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(used.items())
    ]
    head = _HEAD.format(name=app.name, package=package, imports="\n".join(imports))
    return "\n".join([head, *bodies])


def _client(resource: RowResource, used: dict[str, set[str]]) -> Iterator[str]:
    cls = _name(resource.cls, used)
    shape, key, many = resource.shape, resource.key, resource.many
    named = [_taken(shape[name], used) for name in key]
    key_of = f"({', '.join(key)},)"
    leading = [f"{name}: {_type(shape[name], used)} = {shape[name].kind()!r}" for name in key[:-1]]
    asked = [
        *leading,
        *(['prefix: str = ""'] if shape[key[-1]].kind is str else []),
        *(
            f"{name}: {_type(shape.get(name) or resource.conditions[name], used)} | None = None"
            for name in (*resource.of(Role.FILTER), *resource.conditions)
        ),
    ]
    asked_names = [each.partition(":")[0] for each in asked]
    yield f'\nclass {many}(Rows[{cls}]):\n    """The rows of `{resource.family}`."""\n'
    yield f"    row_class = {cls}\n"
    yield _method(
        "get",
        [*named, "*", "stale: bool = False", _TIMEOUT],
        f"{cls} | None",
        "Return the row of a key, or None.",
        f"return await self._get({key_of}, stale=stale, timeout_s=timeout_s)",
    )
    yield _method(
        "list",
        ["*", *asked],
        f"AsyncGenerator[{cls}, None]",
        "Yield rows in the order of their keys; None or empty leaves a condition out.",
        f"return self._list({_dict(asked_names)})",
        plain=True,
    )
    yield _method(
        "count",
        ["*", *asked],
        "int",
        "Return how many rows there are under the same conditions.",
        f"return await self._count({_dict(asked_names)})",
    )
    if "Update" in resource.verbs:
        free = [each for each in shape.values() if each.role not in (Role.KEY, Role.INTERNAL)]
        changes = [f"{each.name}: {_type(each, used)} | Unset = UNSET" for each in free]
        yield _method(
            "update",
            [*named, "*", *changes, _TIMEOUT],
            cls,
            "Change the given fields of a row; None clears an optional field.",
            f"return await self._update({key_of}, {_dict(e.name for e in free)}, timeout_s)",
        )
    if "Delete" in resource.verbs:
        yield _method(
            "delete",
            [
                *named,
                "*",
                "missing_ok: bool = False",
                "expected_revision: int | None = None",
                _TIMEOUT,
            ],
            "None",
            "Delete a row with the rows that belong to it.",
            f"await self._delete({key_of}, missing_ok=missing_ok, "
            "expected_revision=expected_revision, timeout_s=timeout_s)",
        )
    yield _method(
        "watch",
        [*leading, "*", 'token: bytes = b""', "changes_only: bool = False"],
        f"AsyncGenerator[RecordChange[pb.{resource.name}], None]",
        "Yield the current rows with keys that begin with these parts, and then every change.",
        f"return self._watch(({''.join(name + ', ' for name in key[:-1])}), token=token, "
        "changes_only=changes_only)",
        plain=True,
    )
    for verb in resource.own_verbs:
        yield _verb(resource, verb, named, key_of, cls, used)
    yield from _blocking(resource)


def _verb(
    resource: RowResource,
    verb: VerbOf,
    named: list[str],
    key_of: str,
    cls: str,
    used: dict[str, set[str]],
) -> str:
    given = resource.parameters(verb)
    said = (verb.function.__doc__ or f"Carry out `{verb.function.__name__}`.").strip()
    return _method(
        verb.function.__name__,
        [*named, "*", *(_taken(each, used) for each in given.values()), _TIMEOUT],
        cls,
        said.splitlines()[0],
        f'return await self._do("{verb.name}", {key_of}, {_dict(given)}, timeout_s)',
    )


def _blocking(resource: RowResource) -> Iterator[str]:
    many = resource.many
    yield f'\nclass Sync{many}(Blocking[{many}]):\n    """The same, without `await`."""\n'
    yield "    def __init__(self, q: Client) -> None:"
    yield f"        super().__init__(q.thread, {many}(q.asynchronous))\n"
    verbs = [each.lower() for each in ("Create", "Put") if each in resource.verbs]
    own = [name for each in verbs for name in (each, f"{each}_each")]
    own += ["get", "count"]
    own += [each.lower() for each in ("Update", "Delete") if each in resource.verbs]
    own += [each.function.__name__ for each in resource.own_verbs]
    yield "\n".join(f"    {name} = blocking({many}.{name})" for name in own)
    yield f"    list = iterating({many}.list)\n    watch = iterating({many}.watch)\n"


def _method(
    name: str, parameters: list[str], answer: str, said: str, body: str, *, plain: bool = False
) -> str:
    if parameters[-1:] == ["*"]:
        parameters = parameters[:-1]
    given = "".join(f"        {each},\n" for each in parameters)
    begin = "def" if plain else "async def"
    return (
        f'    {begin} {name}(\n        self,\n{given}    ) -> {answer}:\n        """{said}"""\n'
        f"        {body}\n"
    )


def _taken(field: Field, used: dict[str, set[str]]) -> str:
    default = "None" if field.many else repr(field.default)
    given = "" if field.default is MISSING else f" = {default}"
    return f"{field.name}: {_type(field, used)}{given}"


def _type(field: Field, used: dict[str, set[str]]) -> str:
    kind = _name(field.kind, used)
    if field.many == "dict":
        kind = f"dict[{field.map_key.__name__}, {kind}]"
    elif field.many:
        kind = f"builtins.list[{kind}]"
    optional = field.optional or (field.many and field.default is not MISSING)
    return f"{kind} | None" if optional else kind


def _name(kind: Any, used: dict[str, set[str]]) -> str:
    if kind not in PLAIN:
        used.setdefault(kind.__module__, set()).add(kind.__name__)
    return str(kind.__name__)


def _dict(names: Iterable[str]) -> str:
    return f"{{{', '.join(f'{name!r}: {name}' for name in names)}}}"
