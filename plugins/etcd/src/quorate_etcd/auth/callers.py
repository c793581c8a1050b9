"""The user of the call that this task serves."""

from contextvars import ContextVar
from typing import Final

#: Empty: none was shown.
user: Final[ContextVar[str]] = ContextVar("quorate_etcd_user", default="")
