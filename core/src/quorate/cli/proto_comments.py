"""What `.proto` files say of their declarations, which generated code leaves out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from quorate.cli.exporting import proto_source

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor

_COMMENT: Final = r"//[^\n]*|/\*.*?\*/"
_TEXT: Final = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_TOKEN: Final = re.compile(rf"{_COMMENT}|{_TEXT}|\n\s*\n|[\w.]+|\S", re.DOTALL)
_FRAME: Final = re.compile(r"^\s*(?:///?|/\*+|\*(?!/))|\*+/$", re.MULTILINE)
_NAMED: Final = ("message", "enum", "service", "oneof", "rpc")


def comment_of(declared: Any, file: FileDescriptor) -> str:
    """Return the comment of a declaration in its `.proto` file, on one line; "" without one."""
    return _comments(file.name).get(declared.full_name.removeprefix(f"{file.package}."), "")


@cache
def _comments(file: str) -> Mapping[str, str]:
    return comments_in(proto_source(file).decode())


def comments_in(source: str) -> Mapping[str, str]:
    """Return the comments of a `.proto` file by the names of what they stand above, or beside."""
    found: dict[str, str] = {}
    scopes, words, above, last = list[str](), list[str](), list[str](), ""
    for token in _TOKEN.finditer(source):
        text = token[0]
        if text.startswith(("//", "/*")):
            said = " ".join(_FRAME.sub("", text).split())
            if not source[source.rfind("\n", 0, token.start()) + 1 : token.start()].strip():
                above.append(said)
            elif not words and not found.get(last):
                found[last] = said
        elif text.isspace():
            above.clear()
        elif text in ("{", ";", "}"):
            name = _name(words)
            if name:
                last = ".".join((*filter(None, scopes), name))
                found[last] = " ".join(filter(None, above))
            if text == "{":
                # The fields of a oneof are those of its message.
                scopes.append("" if words[:1] == ["oneof"] else name)
            elif text == "}":
                scopes.pop()
            words.clear()
            above.clear()
        else:
            words.append(text)
    return found


def _name(words: Sequence[str]) -> str:
    """Return what a statement declares, if anything: a field stands before its number."""
    if words[:1] and words[0] in _NAMED:
        return words[1]
    return words[words.index("=") - 1] if "=" in words else ""
