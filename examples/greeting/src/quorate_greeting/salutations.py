"""The salutations: an extension point, and the extensions of this plugin itself."""

from typing import Final

from quorate.plugin import Extension, ExtensionPoint

from quorate_greeting.api import Salutation

WORDINGS: Final = {
    "hello": "Hello, {name}!",
    "moin": "Moin, {name}!",
    "welcome": "Welcome, {name}!",
}

POINT: Final = ExtensionPoint(name="greeting.salutations", type=Salutation)
OWN: Final = tuple(
    Extension(point=POINT.name, name=name, value=Salutation(wording))
    for name, wording in WORDINGS.items()
)
