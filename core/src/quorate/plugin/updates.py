"""Partial updates: an update changes the fields that it gives, and no others.

A field is given when the update's mask names it or, without a mask, when it is set: to anything but
the default, or at all where the field has presence. Without a mask the fields within a message are
given one by one; a list or a map is given, and replaced, as a whole.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message

from quorate.plugin.outcomes import Invalid, Rejected
from quorate.plugin.singles import has_field

U = TypeVar("U", bound=Message)
R = TypeVar("R", bound=Message)

#: The field with the mask of given fields: in the update, or beside the rows of a request.
UPDATE_MASK: Final = "update_mask"


@dataclass(frozen=True, slots=True, kw_only=True)
class Updates:
    """The updates of a resource's rows.

    A mask that is not passed is the update's own.
    """

    #: The fields that no update changes, including the fields of the key.
    fixed: frozenset[str]

    def check(
        self,
        update: U,
        path: str = "",
        *,
        whole: Callable[[U, str], None] | None = None,
        mask: FieldMask | None = None,
        mask_path: str = "",
    ) -> None:
        """Refuse a mask with fields that cannot be changed, and wrong values of given fields.

        `whole` refuses an invalid whole row; its refusals of fields that are not given count only
        for the row that the update leads to, see `updated`.
        """
        mask, mask_path = _mask(update, mask), mask_path or f"{path}{UPDATE_MASK}"
        for name in mask.paths:
            if self._is_fixed(name) or not has_field(update.DESCRIPTOR, name):
                names = (field.name for field in update.DESCRIPTOR.fields)
                free = ", ".join(each for each in names if not self._is_fixed(each))
                raise Invalid(mask_path, f"names {name!r}, and may name {free}")
        if whole is None:
            return
        try:
            whole(update, path)
        except Invalid as invalid:
            wrong = _root(invalid.field.removeprefix(path))
            given = {_root(each) for each in self.given(update, mask).paths}
            if wrong in given or wrong in self.fixed:
                raise

    def given(self, update: Message, mask: FieldMask | None = None) -> FieldMask:
        """Return the fields that an update gives."""
        mask = _mask(update, mask)
        if mask.paths:
            return mask
        return FieldMask(paths=[each for each in _set_in(update) if not self._is_fixed(each)])

    def write(self, row: R, update: Message, mask: FieldMask | None = None) -> R:
        """Write the given fields of an update into a row, and return the row."""
        given = self.given(update, mask)
        source = deepcopy(update)
        for path in given.paths:
            # An absent message would keep the fields named within it from being cleared.
            within: Message = source
            for name in path.split(".")[:-1]:
                within = getattr(within, name)
                within.SetInParent()
        given.MergeMessage(source, row, True, True)
        for path in given.paths:
            # protobuf before 6 gives a field with presence its default, and does not clear it.
            _clear_absent(path, source, row)
        return row

    def _is_fixed(self, path: str) -> bool:
        return _root(path) in self.fixed or _root(path) == UPDATE_MASK


def updated(row: R, check: Callable[[R], None]) -> R:
    """Return the row that an update leads to; reject it if `check` refuses it."""
    try:
        check(row)
    except Invalid as invalid:
        raise Rejected("INVALID_ARGUMENT", str(invalid)) from None
    return row


def _mask(update: Message, mask: FieldMask | None) -> FieldMask:
    return getattr(update, UPDATE_MASK, FieldMask()) if mask is None else mask


def _root(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _clear_absent(path: str, source: Any, row: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        source, row = getattr(source, parent), getattr(row, parent)
    if source.DESCRIPTOR.fields_by_name[name].has_presence and not source.HasField(name):
        row.ClearField(name)


def _set_in(message: Message, prefix: str = "") -> Iterator[str]:
    for field, value in message.ListFields():
        if isinstance(value, Message):
            yield from _set_in(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}"
