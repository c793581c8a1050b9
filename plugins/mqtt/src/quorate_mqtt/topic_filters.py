"""Topic names and topic filters of MQTT: their syntax, and the matching of topics."""

from __future__ import annotations

from enum import Enum
from typing import Final

#: Maximum size of a topic name or filter in UTF-8: MQTT encodes its length in two bytes.
LONGEST_TOPIC: Final = 65_535

_SHARED: Final = "$share"


class Wildcard(Enum):
    """A level of a filter that matches other levels."""

    #: `+`: any one level.
    ONE = "+"
    #: `#`: any number of following levels, or none.
    REST = "#"


#: A filter split at its slashes; a literal level is a text, whatever characters it has.
Levels = tuple[str | Wildcard, ...]

_WILDCARDS: Final = {wildcard.value: wildcard for wildcard in Wildcard}


def fault_of_topic(topic: str) -> str:
    """Return the fault of a text as a topic name to publish to; empty if it is valid."""
    if fault := _fault_of_text(topic):
        return fault
    if "+" in topic or "#" in topic:
        return "must not have the wildcards + and #"
    return ""


def fault_of_filter(topic_filter: str) -> str:
    """Return the fault of a text as a topic filter, shared or not; empty if it is valid."""
    if fault := _fault_of_text(topic_filter):
        return fault
    if topic_filter == _SHARED or topic_filter.startswith(f"{_SHARED}/"):
        group, separated, topic_filter = topic_filter[len(_SHARED) + 1 :].partition("/")
        if not group or not separated or not topic_filter:
            return "must be $share/GROUP/FILTER, with a group and a filter"
        if "+" in group or "#" in group:
            return "must not have the wildcards + and # in the name of its group"
    for level in (levels := topic_filter.split("/")):
        if level not in _WILDCARDS and ("+" in level or "#" in level):
            return "must have the wildcards + and # as whole levels only"
    if "#" in levels[:-1]:
        return "must have the wildcard # as its last level only"
    return ""


def group_of(topic_filter: str) -> str:
    """Return the group of a valid shared filter; empty when it is not shared."""
    if not topic_filter.startswith(f"{_SHARED}/"):
        return ""
    return topic_filter.split("/", 2)[1]


def unshared(topic_filter: str) -> str:
    """Return a valid filter without `$share` and the group, if it is shared."""
    return topic_filter.split("/", 2)[2] if group_of(topic_filter) else topic_filter


def levels_of(topic_filter: str) -> Levels:
    """Return the levels of a valid filter that is not shared, or of a topic name."""
    return tuple(_WILDCARDS.get(level, level) for level in topic_filter.split("/"))


def matches(topic_filter: str, topic: str) -> bool:
    """Return whether a valid filter, shared or not, matches a topic."""
    return covers(levels_of(unshared(topic_filter)), tuple(topic.split("/")))


def covers(wider: Levels, narrower: Levels) -> bool:
    """Return whether the wider filter matches every topic that the narrower filter matches.

    Wildcards do not match a first level that begins with `$`.
    """
    if _is_hidden_from(wider[0], narrower[0]):
        return False
    for place, level in enumerate(wider):
        if level is Wildcard.REST:
            return True
        if place == len(narrower):
            return False
        other = narrower[place]
        if other is Wildcard.REST:
            # It also matches no level at all, except in first place.
            return place == 0 and wider == (Wildcard.ONE, Wildcard.REST)
        if level is not Wildcard.ONE and level != other:
            return False
    return len(wider) == len(narrower)


def overlap(one: Levels, other: Levels) -> bool:
    """Return whether both filters match a common topic."""
    if _is_hidden_from(one[0], other[0]) or _is_hidden_from(other[0], one[0]):
        return False
    for level, its in zip(one, other, strict=False):
        if Wildcard.REST in (level, its):
            return True
        if Wildcard.ONE not in (level, its) and level != its:
            return False
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return longer[len(shorter) :] in ((), (Wildcard.REST,))


def _is_hidden_from(level: str | Wildcard, first: str | Wildcard) -> bool:
    return isinstance(level, Wildcard) and isinstance(first, str) and first.startswith("$")


def _fault_of_text(text: str) -> str:
    if not text:
        return "must not be empty"
    if "\0" in text:
        return "must not have the character U+0000"
    if len(text.encode(errors="surrogatepass")) > LONGEST_TOPIC:
        return f"must have at most {LONGEST_TOPIC:,} bytes of UTF-8"
    return ""
