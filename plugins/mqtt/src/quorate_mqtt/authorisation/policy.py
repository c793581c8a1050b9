"""The decision over the users, rules and blacklist entries of one tenant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from quorate_mqtt.authorisation.access import Access, Action, Asked, take_apart
from quorate_mqtt.authorisation.rules import EVERYBODY, Ban, Rule, ban_of, rule_of
from quorate_mqtt.rules import ACL_RULE, BLACKLIST_ENTRY
from quorate_mqtt.users.resource import USER
from quorate_mqtt.v1 import acl_rules_pb2, blacklist_pb2
from quorate_mqtt.v1.acl_rules_pb2 import AclSubject
from quorate_mqtt.v1.blacklist_pb2 import BlacklistKind
from quorate_mqtt.v1.users_pb2 import User

#: The families of rows that a decision depends on.
FAMILIES: Final = (USER.family, ACL_RULE.family, BLACKLIST_ENTRY.family)


class Reason(StrEnum):
    """The reason for permitting or denying an access."""

    #: A blacklist entry blocks the client.
    BLACKLISTED = "blacklisted"
    #: No blacklist entry blocks the client, which may connect.
    NOT_BLACKLISTED = "not_blacklisted"
    #: The user may do everything.
    SUPERUSER = "superuser"
    DENIED_BY_RULE = "denied_by_rule"
    ALLOWED_BY_RULE = "allowed_by_rule"
    #: No rule matches; the caller decides.
    NO_RULE = "no_rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision, its reason, and the row that decided."""

    allowed: bool
    reason: Reason
    #: The name of the rule, the blacklist entry or the superuser; empty if none of them decided.
    decided_by: str = ""


F = TypeVar("F", Ban, Rule)


def decide(
    asked: Asked,
    *,
    is_superuser: bool,
    bans: Iterable[Ban],
    rules: Iterable[Rule],
    allow_unmatched: bool,
) -> Decision:
    """Decide: the blacklist, then superusers, then rules that deny, then rules that allow.

    Of several matching rows, the decision names the first by name.
    """
    ban = _first(bans, asked)
    if ban is not None:
        return Decision(allowed=False, reason=Reason.BLACKLISTED, decided_by=ban.name)
    if asked.access.action is Action.CONNECT:
        return Decision(allowed=True, reason=Reason.NOT_BLACKLISTED)
    if is_superuser:
        name = asked.access.username
        return Decision(allowed=True, reason=Reason.SUPERUSER, decided_by=name)
    listed = list(rules)
    denying = _first((rule for rule in listed if not rule.allows), asked)
    if denying is not None:
        return Decision(allowed=False, reason=Reason.DENIED_BY_RULE, decided_by=denying.name)
    allowing = _first((rule for rule in listed if rule.allows), asked)
    if allowing is not None:
        return Decision(allowed=True, reason=Reason.ALLOWED_BY_RULE, decided_by=allowing.name)
    return Decision(allowed=allow_unmatched, reason=Reason.NO_RULE)


class Policy:
    """The rules, bans and superusers of one tenant, indexed by client and user."""

    def __init__(self) -> None:
        self._superusers: Final[set[str]] = set()
        self._rules: Final[_Filed[tuple[AclSubject, str], Rule]] = _Filed()
        self._bans: Final[_Filed[tuple[BlacklistKind, str], Ban]] = _Filed()

    def put_superuser(self, username: str) -> None:
        """Let a user do everything."""
        self._superusers.add(username)

    def drop_superuser(self, username: str) -> None:
        """Treat a user as any other."""
        self._superusers.discard(username)

    def put_rule(self, rule: Rule) -> None:
        """Add a rule, in place of a rule of the same name."""
        self._rules.put((rule.kind, rule.subject), rule)

    def drop_rule(self, name: str) -> None:
        """Remove a rule."""
        self._rules.drop(name)

    def put_ban(self, ban: Ban) -> None:
        """Add a blacklist entry, in place of an entry of the same name."""
        subject = ban.subject if ban.kind in _EXACT else EVERYBODY
        self._bans.put((ban.kind, subject), ban)

    def drop_ban(self, name: str) -> None:
        """Remove a blacklist entry."""
        self._bans.drop(name)

    def see(self, family: str, name: str, row: bytes | None) -> None:
        """Put a row of one of `FAMILIES` in place of that of its name; without a row, drop it."""
        if family == USER.family:
            if row is not None and User.FromString(row).superuser:
                self.put_superuser(name)
            else:
                self.drop_superuser(name)
        elif family == ACL_RULE.family:
            if row is None:
                self.drop_rule(name)
            else:
                self.put_rule(rule_of(acl_rules_pb2.AclRule.FromString(row)))
        elif row is None:
            self.drop_ban(name)
        else:
            self.put_ban(ban_of(blacklist_pb2.BlacklistEntry.FromString(row)))

    def decide(self, access: Access, *, allow_unmatched: bool = True) -> Decision:
        """Decide on an access; raises `Invalid` for an invalid access.

        `allow_unmatched` decides where no rule matches.
        """
        return decide(
            take_apart(access),
            is_superuser=access.username in self._superusers,
            bans=self._bans.of(_ban_subjects(access)),
            rules=self._rules.of(_rule_subjects(access)),
            allow_unmatched=allow_unmatched,
        )


#: Kinds of blacklist entries that name one client or user.
_EXACT: Final = (
    blacklist_pb2.BLACKLIST_KIND_CLIENT_ID,
    blacklist_pb2.BLACKLIST_KIND_USER,
)
_INEXACT: Final = (
    blacklist_pb2.BLACKLIST_KIND_CLIENT_ID_PATTERN,
    blacklist_pb2.BLACKLIST_KIND_USER_PATTERN,
    blacklist_pb2.BLACKLIST_KIND_IP,
    blacklist_pb2.BLACKLIST_KIND_CIDR,
)

S = TypeVar("S", bound=tuple[object, str])


class _Filed(Generic[S, F]):
    """Rules or entries by name, and by subject."""

    def __init__(self) -> None:
        self._subjects: Final[dict[str, S]] = {}
        self._by_subject: Final[dict[S, dict[str, F]]] = {}

    def put(self, subject: S, filed: F) -> None:
        self.drop(filed.name)
        self._subjects[filed.name] = subject
        self._by_subject.setdefault(subject, {})[filed.name] = filed

    def drop(self, name: str) -> None:
        subject = self._subjects.pop(name, None)
        if subject is None:
            return
        about = self._by_subject[subject]
        del about[name]
        if not about:
            del self._by_subject[subject]

    def of(self, subjects: Iterable[S]) -> Iterator[F]:
        for subject in subjects:
            yield from self._by_subject.get(subject, {}).values()


def _rule_subjects(access: Access) -> Iterator[tuple[AclSubject, str]]:
    # A name that is `*` itself is looked up once.
    for name in {access.client_id, EVERYBODY}:
        yield acl_rules_pb2.ACL_SUBJECT_CLIENT_ID, name
    for name in {access.username, EVERYBODY}:
        yield acl_rules_pb2.ACL_SUBJECT_USER, name


def _ban_subjects(access: Access) -> Iterator[tuple[BlacklistKind, str]]:
    yield from zip(_EXACT, (access.client_id, access.username), strict=True)
    for kind in _INEXACT:
        yield kind, EVERYBODY


def _first(matching: Iterable[F], asked: Asked) -> F | None:
    return min(
        (each for each in matching if each.fits(asked)), key=lambda each: each.name, default=None
    )
