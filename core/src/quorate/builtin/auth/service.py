"""The methods that are not derived: they make tokens, propose their hashes, turn the switch."""

from __future__ import annotations

import time
from typing import Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from quorate.builtin.auth import roles, tokens
from quorate.builtin.auth.authority import AuthRows
from quorate.plugin import Caller, Invalid, NodeApi, Rejected
from quorate.plugin.access import EVERY, all_rights
from quorate.plugin.checking import check_description, check_name
from quorate.v1 import auth_pb2 as pb

#: A hundred years: a token that is to live longer needs no end.
LONGEST_MS: Final = 100 * 365 * 86_400 * 1_000


class TokenServicer:
    """Issues tokens; the other methods of the service are derived."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Issue(self, request: pb.IssueToken, context: object) -> pb.NewToken:
        """Issue a token to a user, and return its text this once."""
        check_name("user", request.user)
        kept, text = _made(request.user, request.description, request.ttl_ms)
        stored = await self._node.propose(kept, pb.Token)
        return pb.NewToken(token=stored, text=text)


class AuthServicer:
    """Turns authentication on and off, and reports the rights of a caller."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Enable(self, request: pb.EnableAuth, context: object) -> pb.NewToken:
        """Turn authentication on; return the first administrator's token."""
        check_name("administrator", request.administrator)
        if obstacle := self._rows().obstacle:
            raise Rejected("FAILED_PRECONDITION", obstacle)
        kept, text = _made(request.administrator, "of the first administrator", request.ttl_ms)
        await self._node.propose(pb.SwitchAuth(enabled=True, administrator=kept), Empty)
        return pb.NewToken(token=kept.token, text=text)

    async def Disable(self, request: pb.DisableAuth, context: object) -> Empty:
        """Turn authentication off."""
        if not self._rows().enabled:
            return Empty()
        return await self._node.propose(pb.SwitchAuth(), Empty)

    async def Status(self, request: pb.AuthStatusRequest, context: object) -> pb.AuthStatus:
        """Return the identity and the grants of the caller."""
        rows, caller = self._rows(), self._node.caller()
        rights = all_rights(caller.name) if caller.node else rows.rights(caller.name)
        return pb.AuthStatus(
            enabled=bool(rows.enabled), caller=caller.name, grants=roles.shown(rights.grants)
        )

    def _rows(self) -> AuthRows:
        return self._node.cache(AuthRows)


async def admit_roles(node: NodeApi, _: Caller, command: Message) -> None:
    """Refuse grants of domains that this node does not know."""
    known = node.cache(AuthRows).domains
    if not known:
        return
    for place, role in enumerate(command.roles):  # type: ignore[attr-defined]
        for position, grant in enumerate(role.grants):
            if grant.domain != EVERY and grant.domain not in known:
                raise Invalid(
                    f"roles[{place}].grants[{position}].domain",
                    f"{grant.domain!r} is neither a plugin of this node, nor a family of one, nor "
                    f"{EVERY}; plugins are {', '.join(each for each in known if '.' not in each)}",
                )


def _made(user: str, description: str, ttl_ms: int) -> tuple[pb.KeepToken, str]:
    check_description("description", description)
    if not 0 <= ttl_ms <= LONGEST_MS:
        raise Invalid("ttl_ms", f"must be from 0 to {LONGEST_MS}")
    made = tokens.new_token()
    ends_at_ms = int(time.time() * 1_000) + ttl_ms if ttl_ms else 0
    token = pb.Token(user=user, id=made.id, description=description, ends_at_ms=ends_at_ms)
    return pb.KeepToken(token=token, secret=tokens.kept(made)), str(made)
