"""ACL rules and blacklist entries, parsed once for many decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from quorate_mqtt.authorisation.access import Access, Action, Address, Asked, address_of
from quorate_mqtt.topic_filters import Levels, Wildcard, covers, levels_of, overlap
from quorate_mqtt.v1 import acl_rules_pb2, blacklist_pb2
from quorate_mqtt.v1.acl_rules_pb2 import AclAction, AclRule, AclSubject
from quorate_mqtt.v1.blacklist_pb2 import BlacklistEntry, BlacklistKind

Network = IPv4Network | IPv6Network

#: The subject that matches all clients or users.
EVERYBODY: Final = "*"

_PLACEHOLDER: Final = re.compile("%[cu]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Permits or denies an action on topics to a client or a user.

    An allowing rule matches a subscription if it covers all topics of the filter; a denying rule
    matches if it has one topic in common with the filter: so no subscriber receives messages of
    a topic that a rule denies.
    """

    name: str
    allows: bool
    kind: AclSubject
    subject: str
    action: AclAction
    #: A literal level may have the placeholders `%c` (client id) and `%u` (user name).
    levels: Levels
    #: None: the rule applies to clients at any address.
    network: Network | None = None

    def fits(self, asked: Asked) -> bool:
        """Return whether the rule matches an access."""
        access = asked.access
        return (
            self._is_about(access)
            and _is_done_by(access, self.action)
            and holds(self.network, asked.address)
            and self._has(asked)
        )

    def _is_about(self, access: Access) -> bool:
        name = (
            access.client_id
            if self.kind == acl_rules_pb2.ACL_SUBJECT_CLIENT_ID
            else access.username
        )
        return name == self.subject or (self.subject == EVERYBODY and bool(name))

    def _has(self, asked: Asked) -> bool:
        levels = self._filled(asked.access)
        if levels is None:
            return False
        if self.allows:
            return covers(levels, asked.levels)
        return overlap(levels, asked.levels)

    def _filled(self, access: Access) -> Levels | None:
        """Return the levels with the names of the client in place of the placeholders.

        None if a name could widen an allowing rule: a name with a slash would reach below the
        topics of another client, a name that begins with `$` would reach the topics of the broker.
        """
        levels: list[str | Wildcard] = []
        names = {"%c": access.client_id, "%u": access.username}
        for level in self.levels:
            if isinstance(level, Wildcard):
                levels.append(level)
                continue
            if self.allows and any(
                not names[place] or names[place].startswith("$") or "/" in names[place]
                for place in _PLACEHOLDER.findall(level)
            ):
                return None
            levels += _PLACEHOLDER.sub(lambda found: names[found[0]], level).split("/")
        return tuple(levels)


def rule_of(row: AclRule) -> Rule:
    """Return the rule of a row."""
    return Rule(
        name=row.name,
        allows=row.permission == acl_rules_pb2.ACL_PERMISSION_ALLOW,
        kind=row.subject_kind,
        subject=row.subject,
        action=row.action,
        levels=levels_of(row.topic),
        network=network_of(row.ip) if row.ip else None,
    )


def network_of(text: str) -> Network:
    """Return the network of a range in CIDR form, or that of one address."""
    return ip_network(text if "/" in text else address_of(text), strict=False)


def holds(network: Network | None, address: Address | None) -> bool:
    """Return whether an address lies in a network; an unknown address lies in no network."""
    return network is None or (address is not None and address in network)


def _is_done_by(access: Access, action: AclAction) -> bool:
    match action:
        case acl_rules_pb2.ACL_ACTION_PUBLISH:
            return access.action is Action.PUBLISH
        case acl_rules_pb2.ACL_ACTION_SUBSCRIBE:
            return access.action is Action.SUBSCRIBE
        case acl_rules_pb2.ACL_ACTION_RETAIN:
            return access.action is Action.PUBLISH and access.retain
        case acl_rules_pb2.ACL_ACTION_QOS:
            return access.qos > 0
        case _:
            return True


_MANY: Final = "*"
_ONE: Final = "?"


def fits_pattern(pattern: str, text: str) -> bool:
    """Return whether a text fits a pattern, in time proportional to both lengths."""
    place = at = 0
    #: After the last star, and the end of the text tried for it so far.
    behind_star, star_end = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == _MANY:
            place += 1
            behind_star, star_end = place, at
        elif place < len(pattern) and pattern[place] in (_ONE, text[at]):
            place += 1
            at += 1
        elif behind_star >= 0:
            star_end += 1
            place, at = behind_star, star_end
        else:
            return False
    return not pattern[place:].strip(_MANY)


_NETWORKS: Final = frozenset({blacklist_pb2.BLACKLIST_KIND_IP, blacklist_pb2.BLACKLIST_KIND_CIDR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ban:
    """Blocks clients, regardless of rules that allow them access."""

    name: str
    kind: BlacklistKind
    #: A name, a pattern, an address or a network, as the kind says.
    subject: str
    #: Of an address or a network; None for the other kinds.
    network: Network | None = None

    def fits(self, asked: Asked) -> bool:
        """Return whether the entry blocks the client."""
        client_id, username = asked.access.client_id, asked.access.username
        match self.kind:
            case blacklist_pb2.BLACKLIST_KIND_CLIENT_ID:
                return client_id == self.subject
            case blacklist_pb2.BLACKLIST_KIND_USER:
                return username == self.subject
            case blacklist_pb2.BLACKLIST_KIND_CLIENT_ID_PATTERN:
                return fits_pattern(self.subject, client_id)
            case blacklist_pb2.BLACKLIST_KIND_USER_PATTERN:
                return bool(username) and fits_pattern(self.subject, username)
            case _:
                return self.network is not None and holds(self.network, asked.address)


def ban_of(row: BlacklistEntry) -> Ban:
    """Return the ban of a blacklist entry."""
    network = network_of(row.subject) if row.kind in _NETWORKS else None
    return Ban(name=row.name, kind=row.kind, subject=row.subject, network=network)
