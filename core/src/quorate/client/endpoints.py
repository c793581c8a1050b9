"""Where the nodes of a cluster are asked first."""

import os
from collections.abc import Mapping
from typing import Final

from quorate.client.errors import InvalidError

VARIABLE: Final = "QUORATE_ENDPOINTS"
#: Those of `quorate dev`.
DEFAULT: Final = "127.0.0.1:7401,127.0.0.1:7402,127.0.0.1:7403"


def endpoints_of(text: str | None, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the addresses in `host:port,host:port`; without a text the default ones.

    Raises `InvalidError` for what is no list of addresses.
    """
    text = text or environ.get(VARIABLE) or DEFAULT
    addresses = tuple(part.strip() for part in text.split(","))
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise InvalidError(
                "endpoints",
                f"{address!r} in {text!r} is no address; write host:port,host:port,... as in "
                f"{DEFAULT}",
            )
    return tuple(dict.fromkeys(addresses))
