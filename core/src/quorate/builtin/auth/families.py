"""The names of the domain's families."""

from typing import Final

USERS: Final = "auth.users"
TOKENS: Final = "auth.tokens"
SECRETS: Final = "auth.secrets"
ROLES: Final = "auth.roles"
BINDINGS: Final = "auth.bindings"
SWITCH: Final = "auth.switch"
