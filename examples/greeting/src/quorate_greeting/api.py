"""The API for other plugins, which add salutations to the extension point of this one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Salutation:
    """A way to greet; `wording` holds `{name}` where the name goes."""

    wording: str

    def text(self, name: str) -> str:
        """Return the greeting for a person of this name."""
        return self.wording.replace("{name}", name)
