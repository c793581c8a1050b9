"""Audits calls: each command that enters here, and each operation of an operator on the node.

A record has the caller, the operation, the keys, the time, the address and the outcome. It holds
no value and no text of an error, as both may hold a secret.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message
from google.rpc import code_pb2, error_details_pb2

from quorate.observe.audit import AuditLog
from quorate.plugin import Command, keys
from quorate.plugin.catalog import Catalog
from quorate.plugin.services import methods_of
from quorate.rpc import callers
from quorate.rpc.calls import code_of, gone
from quorate.rpc.methods import Behaviour, Context
from quorate.rpc.status import detail, status_of
from quorate.shards.routing.requests import Answer, Answered
from quorate.v1.batch_pb2 import ItemRefusal

_log = logging.getLogger(__name__)

#: The domain of operators' operations on a node.
ADMIN: Final = "admin"
#: Refusals that are recorded for every method.
_DENIED: Final = ("PERMISSION_DENIED", "UNAUTHENTICATED")
#: A command with more keys has several records.
KEYS: Final = 1_000

Fields = Mapping[str, object]
#: A key as people read it.
Key = str | list[str | int]


@dataclass(slots=True)
class _Call:
    """The call that a task serves."""

    address: str
    method: str
    #: Whether it has a record: a refusal has one of its own otherwise.
    recorded: bool = False


#: Outside of a call the node acts, for one of its plugins or for a user admitted by one.
_call: Final[ContextVar[_Call | None]] = ContextVar("quorate_rpc_audited_call", default=None)


class Audit:
    """Makes the records of commands and calls.

    `omitted` names domains, and commands by their full names, which have no records.
    """

    def __init__(
        self,
        log: AuditLog,
        catalog: Catalog,
        admin: Mapping[str, type[Message]],
        omitted: Sequence[str],
    ) -> None:
        self._log: Final = log
        self._commands: Final = {
            command.message: (name, command)
            for name, declared in catalog.declared.items()
            for command in declared.commands
            if not {name, command.message.DESCRIPTOR.full_name} & {*omitted}
        }
        known = {ADMIN, *catalog.declared, *catalog.commands}
        if unknown := set(omitted) - known:
            _log.warning("audit.omit has unknown names: %s", ", ".join(sorted(unknown)))
        #: The requests of administration, by the paths of their methods.
        self._admin: Final = {} if ADMIN in omitted else admin
        self._owners: Final = {
            service.full_name: name
            for name, declared in catalog.declared.items()
            for service in declared.services
        }

    def command(self, message: Message) -> Answered | None:
        """Return a function that records a command, called with its answer; None: no record."""
        audited = self._commands.get(type(message))
        if audited is None:
            return None
        if (call := _call.get()) is not None:
            call.recorded = True
        return partial(self._record_command, _who(), *audited, message)

    def around(self, path: str, serve: Behaviour) -> Behaviour:
        """Let commands know their call; record calls of administration, and those denied."""
        asked = self._admin.get(path)
        domain = self._owners.get(path.split("/")[1], ADMIN)

        async def served(request: Any, context: Context) -> Any:
            call = _Call(_address(context), path)
            _call.set(call)
            # A task may have served the call of another before.
            callers.begin(callers.NOBODY)
            code = "UNKNOWN"
            try:
                answer = await serve(request, context)
                code = code_of(context)
                return answer
            except asyncio.CancelledError:
                code = gone(context)
                raise
            finally:
                if asked is not None or (code in _DENIED and not call.recorded):
                    did = {} if asked is None else {"request": _asked(asked, request)}
                    self._log.write(
                        {**_who(), "domain": domain, "action": path, **did, "outcome": code}
                    )

        return served

    def _record_command(
        self,
        who: Fields,
        domain: str,
        command: Command[Any],
        message: Message,
        answer: Answer | Exception,
    ) -> None:
        outcome, refusals = _outcome(answer)
        did = {**who, "domain": domain, "action": message.DESCRIPTOR.full_name}
        named = _keys(command, message)
        refused = [
            {"key": key, "reason": each.code}
            for each in refusals
            if each.item < len(named)
            for key in named[each.item]
        ]
        found = [key for item in named for key in item]
        # A record is of bounded length, however long the keys of a command.
        for first in range(0, max(len(found), len(refused), 1), KEYS):
            part = {"keys": found[first : first + KEYS], **outcome}
            if some := refused[first : first + KEYS]:
                part["refused"] = some
            self._log.write({**did, **part})


def _who() -> Fields:
    call, caller = _call.get(), callers.caller()
    return {
        "identity": caller.name,
        "address": call.address if call else caller.address,
        "method": call.method if call else "",
    }


def admin_methods(
    service: ServiceDescriptor, except_for: Sequence[str]
) -> Mapping[str, type[Message]]:
    """Return the requests of a service of administration, by the paths of its methods."""
    return {
        method.path: method.request
        for method in methods_of(service)
        if method.path.removeprefix("/") not in except_for
    }


def _keys(command: Command[Any], message: Message) -> list[list[Key]]:
    """Return the keys of each item of a command; a command that is not a batch is its own item."""
    items = [message] if command.items is None else command.items.get(message)
    try:
        return [[keys.readable(each) for each in _keys_of(command, item)] for item in items]
    except Exception:  # noqa: BLE001 - a message that was refused may have none
        return []


def _keys_of(command: Command[Any], item: Any) -> Sequence[bytes]:
    if command.keys is not None:
        return command.keys(item)
    if command.items is None:
        assert command.shard_key is not None
        return (command.shard_key(item),)
    return ((command.items.key or command.items.shard_key)(item),)


def _outcome(answer: Answer | Exception) -> tuple[Fields, Sequence[ItemRefusal]]:
    """Return how a command ended, and which of its items were refused."""
    if isinstance(answer, Exception):
        status = status_of(answer)
        reason = detail(status, error_details_pb2.ErrorInfo).reason
        return {"outcome": code_pb2.Code.Name(status.code), "reason": reason}, ()
    revisions = {str(shard): revision for shard, revision in answer.revisions.items()}
    refusals = () if answer.batch is None else answer.batch.refusals
    return {"outcome": "OK", "revisions": revisions}, refusals


def _asked(kind: type[Message], request: Any) -> Fields:
    """Return the fields of a request of administration, which has no secrets."""
    try:
        return MessageToDict(kind.FromString(request), preserving_proto_field_name=True)
    except (DecodeError, TypeError):
        return {}


def _address(context: Context) -> str:
    """Return the address of a caller, as gRPC has it without the kind of network."""
    return context.peer().partition(":")[2]
