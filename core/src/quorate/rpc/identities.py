"""Authenticates callers by certificate, bearer token or JWT; ends calls with revoked tokens."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from quorate.plugin import Caller, Invalid, Rejected
from quorate.plugin.access import (
    OF_NODES,
    OPERATIONS,
    ROOT,
    Authority,
    denied,
    is_reserved,
    needed,
    reserved_name,
    unknown_caller,
)
from quorate.plugin.needs import Need
from quorate.plugin.services import Method
from quorate.rpc import callers
from quorate.rpc.methods import Behaviour, Context, fail
from quorate.shards.refusals import NotServingError, UnreadableError
from quorate.shards.routing.forwarding import Asked
from quorate.shards.timing import end, every

#: The delay until a revocation ends open calls.
LOOK_S: Final = 0.25

_AUTHORIZATION: Final = "authorization"
_BEARER: Final = "bearer "
_UNKNOWN: Final = NotServingError(
    "this node does not know its callers yet; try again, or ask another node"
)

#: Returns the identity that a JWT proves; raises `Rejected` (UNAUTHENTICATED).
OwnerOf = Callable[[str], str]


@dataclass(eq=False)
class Identities:
    """Finds the identity of the caller of each call.

    `root_token` returns the token of `root`, "" for none; `jwt` is set where an issuer is
    configured. With `certificates` callers show one. `node_of` returns the node of the cluster that
    makes a call, "" for none. Neither a certificate nor a JWT proves a name that `is_reserved`.
    Methods of the services in `unasked` authenticate their callers themselves.
    """

    _authority: Authority
    _root_token: Callable[[], str] = lambda: ""
    _jwt: OwnerOf | None = None
    _certificates: bool = False
    _node_of: Callable[[Context], str] = lambda _: ""
    _is_reserved: Callable[[str], bool] = is_reserved
    _unasked: Collection[str] = ()
    #: The calls made with a token, and their tokens.
    _open: dict[asyncio.Task[Any], str] = field(default_factory=dict, init=False)
    _ended: dict[asyncio.Task[Any], Rejected] = field(default_factory=dict, init=False)
    _following: asyncio.Task[None] | None = field(default=None, init=False)

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the calls of revoked tokens, from now on."""
        failed = "cannot look for revoked tokens; trying again"
        self._following = loop.create_task(every(loop, LOOK_S, self.look, failed))

    async def stop(self) -> None:
        """Look no more."""
        await end(self._following)

    def look(self) -> None:
        """End the calls with tokens that are not accepted any more."""
        if not self._open or not self._authority.enabled:
            return
        refused: dict[str, Rejected] = {}
        for token in set(self._open.values()):
            try:
                self._owner_of(token)
            except Rejected as refusal:
                refused[token] = refusal
        for task, token in self._open.items():
            if token in refused and task not in self._ended:
                self._ended[task] = refused[token]
                task.cancel()

    def around(self, path: str, serve: Behaviour) -> Behaviour:
        """Record the caller of each call of a method, and end the call with its token."""

        if path.strip("/").partition("/")[0] in self._unasked:
            return serve

        def served(request: Any, context: Context) -> Any:
            if self._authority.enabled is False and not self._certificates:
                callers.begin(callers.NOBODY)
                return serve(request, context)
            return identified(request, context)

        async def identified(request: Any, context: Context) -> Any:
            try:
                made_by, token = self._identify(context)
            except Exception as error:  # noqa: BLE001 - each one becomes a status
                return await fail(path, error, context)
            callers.begin(made_by)
            if not token:
                return await serve(request, context)
            task = asyncio.current_task()
            assert task is not None
            self._open[task] = token
            try:
                return await serve(request, context)
            except asyncio.CancelledError:
                why = self._ended.get(task)
                if why is None:
                    raise
                task.uncancel()
                return await fail(path, why, context)
            finally:
                del self._open[task]
                self._ended.pop(task, None)

        return served

    def _identify(self, context: Context) -> tuple[Caller, str]:
        """Return the caller, and its token, if any."""
        if self._authority.enabled:
            for key, value in context.invocation_metadata() or ():
                if key == _AUTHORIZATION:
                    token = _bearer(value)
                    return self._owner_of(token), token
        if node := self._node_of(context):
            return Caller(name=OF_NODES + node, node=True), ""
        return self._certified(context) if self._certificates else callers.NOBODY, ""

    def _certified(self, context: Context) -> Caller:
        found = callers.certified(context)
        if self._is_reserved(found.name):
            raise reserved_name(found.name)
        return found

    def _owner_of(self, token: str) -> Caller:
        root = self._root_token()
        if root and hmac.compare_digest(root.encode(), token.encode(errors="surrogatepass")):
            return Caller(name=ROOT, node=True)
        if self._jwt is None or token.count(".") != 2:
            return Caller(name=self._authority.owner_of(token))
        name = self._jwt(token)
        if self._is_reserved(name):
            raise reserved_name(name)
        return Caller(name=name)


class Guard:
    """Asks, before a method is served, whether its caller may use it."""

    def __init__(self, authority: Authority) -> None:
        self._authority: Final = authority
        #: By the paths of the methods.
        self._methods: Final[dict[str, tuple[Method, Need]]] = {}

    def of(self, method: Method, need: Need) -> Callable[[Any], None]:
        """Return the check of a method's requests; for a stream of requests it gets None."""
        path, access, domain = method.path, need.access, need.domain
        authority = self._authority
        self._methods[path] = method, need

        def demand(request: Message | None) -> None:
            if authority.enabled is False:
                return
            caller = callers.caller()
            if caller.node:
                return
            if authority.enabled is None:
                if domain == OPERATIONS and access.right in ("identity", "read"):
                    # A node that waits for its cluster answers only about itself.
                    return
                raise _UNKNOWN
            if not caller.name:
                raise unknown_caller()
            self._demand(caller.name, need, request)
            # The access of a command is checked again on the leader of its shard.
            callers.ask(Asked(caller.name, path, None if need.by_command else request))

        return demand

    def ask_again(self, caller: str, path: str, content: bytes) -> None:
        """Refuse a request of another node if its caller may not use the method as it did there."""
        if self._authority.enabled is False:
            return
        if self._authority.enabled is None:
            raise UnreadableError("this node does not know its callers yet: ask another node")
        known = self._methods.get(path)
        if known is None:
            raise denied(caller, f"the method {path}, which this node does not have")
        method, need = known
        request = None
        if not need.by_command and not method.kind.startswith("stream"):
            try:
                request = method.request.FromString(content)
            except DecodeError:
                raise Invalid("request", f"its {len(content)} bytes are no {path}") from None
        self._demand(caller, need, request)

    def _demand(self, caller: str, need: Need, request: Message | None) -> None:
        access, domain, rights = need.access, need.domain, self._authority.rights(caller)
        if rights.covers(domain, access.right):
            return
        if need.by_command:
            # Of its items the command itself refuses some.
            if not rights.some(domain, access.right):
                raise denied(caller, needed(access.right, domain))
        elif lacking := rights.lacks(access, domain, request):
            raise denied(caller, lacking)


def _bearer(value: str | bytes) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    if text[: len(_BEARER)].lower() != _BEARER:
        raise Rejected("UNAUTHENTICATED", "authorization must be `Bearer` and a token")
    return text[len(_BEARER) :].strip()
