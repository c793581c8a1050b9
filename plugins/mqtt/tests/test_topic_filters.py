"""Filters against a model that knows each topic by name."""

from itertools import product

import pytest
from hypothesis import given, strategies as st
from quorate_mqtt.topic_filters import (
    LONGEST_TOPIC,
    covers,
    fault_of_filter,
    fault_of_topic,
    group_of,
    levels_of,
    matches,
    overlap,
    unshared,
)

LEVELS = ["a", "b", "$s", ""]
#: With one level more than a filter has, and one text that no filter has, these stand for all.
TOPICS = [
    "/".join(levels)
    for length in range(1, 4)
    for levels in product([*LEVELS, "other"], repeat=length)
]
filters = st.builds(
    lambda levels, rest: "/".join([*levels, *rest]),
    st.lists(st.sampled_from([*LEVELS, "+"]), min_size=1, max_size=2),
    st.sampled_from([[], ["#"]]),
) | st.just("#")


def stands_for(topic_filter: str) -> set[str]:
    """Return the topics of a filter, by the words of the standard."""

    def fits(levels: list[str], topic: list[str]) -> bool:
        if not levels:
            return not topic
        if levels == ["#"]:
            return True
        return bool(topic) and levels[0] in ("+", topic[0]) and fits(levels[1:], topic[1:])

    return {
        topic
        for topic in TOPICS
        if fits(topic_filter.split("/"), topic.split("/"))
        and not (topic.startswith("$") and topic_filter[:1] in ("+", "#"))
    }


@given(topic_filter=filters)
def test_a_filter_stands_for_the_topics_of_the_model(topic_filter: str) -> None:
    assert {topic for topic in TOPICS if matches(topic_filter, topic)} == stands_for(topic_filter)


@given(wider=filters, narrower=filters)
def test_a_filter_covers_another_when_no_topic_of_it_is_left_out(wider: str, narrower: str) -> None:
    found = covers(levels_of(wider), levels_of(narrower))

    assert found == (stands_for(wider) >= stands_for(narrower))


@given(one=filters, other=filters)
def test_filters_overlap_when_they_have_a_topic_in_common(one: str, other: str) -> None:
    found = overlap(levels_of(one), levels_of(other))

    assert found == bool(stands_for(one) & stands_for(other))
    assert found == overlap(levels_of(other), levels_of(one))


@pytest.mark.parametrize(
    ("topic_filter", "topic", "fits"),
    [
        ("sport/#", "sport", True),
        ("sport/+", "sport/", True),
        ("+/+", "/finance", True),
        ("+", "/finance", False),
        ("#", "$SYS/uptime", False),
        ("+/uptime", "$SYS/uptime", False),
        ("$SYS/#", "$SYS/uptime", True),
        ("a/#", "a/$b", True),
        ("$share/g/sport/#", "sport/tennis", True),
        ("$share/g/#", "$share/g/a", False),
    ],
)
def test_the_examples_of_the_standard(topic_filter: str, topic: str, fits: bool) -> None:
    assert matches(topic_filter, topic) is fits


@pytest.mark.parametrize("topic", ["a", "/", "a//b", "$SYS/a", "ü/\U0001f600", "a b"])
def test_these_are_names_and_filters(topic: str) -> None:
    assert fault_of_topic(topic) == ""
    assert fault_of_filter(topic) == ""


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        ("", "must not be empty"),
        ("a\0b", "must not have the character U+0000"),
        ("a/+", "must not have the wildcards + and #"),
        ("a/#", "must not have the wildcards + and #"),
        ("ü" * (LONGEST_TOPIC // 2 + 1), "must have at most 65,535 bytes of UTF-8"),
    ],
)
def test_these_are_no_topic_names(topic: str, why: str) -> None:
    assert fault_of_topic(topic) == why


@pytest.mark.parametrize(
    ("topic_filter", "why"),
    [
        ("", "must not be empty"),
        ("a\0b", "must not have the character U+0000"),
        ("a" * (LONGEST_TOPIC + 1), "must have at most 65,535 bytes of UTF-8"),
        ("a+/b", "must have the wildcards + and # as whole levels only"),
        ("a/b#", "must have the wildcards + and # as whole levels only"),
        ("a/#/b", "must have the wildcard # as its last level only"),
        ("#/", "must have the wildcard # as its last level only"),
        ("$share", "must be $share/GROUP/FILTER, with a group and a filter"),
        ("$share/", "must be $share/GROUP/FILTER, with a group and a filter"),
        ("$share//a", "must be $share/GROUP/FILTER, with a group and a filter"),
        ("$share/g", "must be $share/GROUP/FILTER, with a group and a filter"),
        ("$share/g/", "must be $share/GROUP/FILTER, with a group and a filter"),
        ("$share/+/a", "must not have the wildcards + and # in the name of its group"),
        ("$share/g/a+", "must have the wildcards + and # as whole levels only"),
    ],
)
def test_these_are_no_filters(topic_filter: str, why: str) -> None:
    assert fault_of_filter(topic_filter) == why


@pytest.mark.parametrize(
    ("topic_filter", "group", "inner"),
    [
        ("$share/g/a/+", "g", "a/+"),
        ("$share/g//a", "g", "/a"),
        ("$shared/g/a", "", "$shared/g/a"),
        ("a/#", "", "a/#"),
    ],
)
def test_a_shared_filter_has_a_group(topic_filter: str, group: str, inner: str) -> None:
    assert fault_of_filter(topic_filter) == ""
    assert group_of(topic_filter) == group
    assert unshared(topic_filter) == inner
