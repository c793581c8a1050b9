"""Patterns over names: `*` stands for any characters, `?` for any one."""

from typing import Final

_MANY: Final = "*"
_ONE: Final = "?"


def fits_pattern(pattern: str, text: str) -> bool:
    """Tell whether a text fits a pattern, in time that grows with the product of their lengths."""
    place = at = 0
    #: Behind the last star, and where the text that it stands for ends as far as was tried.
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
