"""What is wrong with an entry of the blacklist whatever the rows say."""

from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from typing import Final

from quorate.plugin import Invalid

from quorate_mqtt.blacklist.families import ENTRIES
from quorate_mqtt.names import check_choice, check_description, check_identity
from quorate_mqtt.v1.blacklist_pb2 import (
    BLACKLIST_KIND_CIDR,
    BLACKLIST_KIND_IP,
    BlacklistEntry,
    BlacklistKind,
)

#: The last millisecond that calendars can show.
LATEST_END_MS: Final = 253_402_300_799_999
#: What the subject of a kind must be, and what reads it.
_READ_AS: Final[Mapping[int, tuple[str, Callable[[str], object]]]] = {
    BLACKLIST_KIND_IP: ("an address", ip_address),
    BLACKLIST_KIND_CIDR: ("a network, as in 10.0.0.0/8", ip_network),
}


def check_entry(entry: BlacklistEntry, path: str = "") -> None:
    """Refuse an entry that does not say whom it keeps out."""
    ENTRIES.check(entry, path)
    check_description(f"{path}description", entry.description)
    check_choice(f"{path}kind", entry.kind, BlacklistKind)
    check_identity(f"{path}subject", entry.subject)
    if entry.ends_at_ms > LATEST_END_MS:
        reason = (
            f"must be at most {LATEST_END_MS}, the last millisecond of the year 9999, not "
            f"{entry.ends_at_ms}: leave it out for an entry that stays"
        )
        raise Invalid(f"{path}ends_at_ms", reason)
    if entry.kind in _READ_AS:
        wanted, read = _READ_AS[entry.kind]
        try:
            read(entry.subject)
        except ValueError:
            raise Invalid(f"{path}subject", f"must be {wanted}, not {entry.subject!r}") from None
