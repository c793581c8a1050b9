"""The trees find what the filters of the plugin mqtt stand for, and nothing else."""

from __future__ import annotations

from hypothesis import given, strategies as st
from quorate_amqtt.topic_trees import FilterTree, TopicTree
from quorate_mqtt.topic_filters import fault_of_filter, matches

LEVELS = st.sampled_from(["a", "b", "$s", ""])
TOPICS = st.lists(LEVELS, min_size=1, max_size=4).map("/".join).filter(bool)
FILTERS = (
    st.lists(st.one_of(LEVELS, st.just("+")), min_size=1, max_size=4)
    .flatmap(lambda levels: st.sampled_from([levels, [*levels, "#"], ["#"]]))
    .map("/".join)
    .filter(lambda each: not fault_of_filter(each))
)


@given(st.sets(FILTERS, max_size=12), TOPICS)
def test_filters_are_found_by_topics(filters: set[str], topic: str) -> None:
    tree: FilterTree[str] = FilterTree()
    for each in filters:
        tree.put(each, f"holder of {each}", each)

    wanted = [(f"holder of {each}", each) for each in filters if matches(each, topic)]
    assert sorted(tree.match(topic)) == sorted(wanted)


@given(st.sets(TOPICS, max_size=12), FILTERS)
def test_topics_are_found_by_filters(topics: set[str], topic_filter: str) -> None:
    tree: TopicTree[str] = TopicTree()
    for each in topics:
        tree.put(each, each)

    found = sorted(tree.match(topic_filter))

    assert found == sorted(each for each in topics if matches(topic_filter, each))


@given(st.lists(st.tuples(FILTERS, st.sampled_from("xyz"))), st.randoms(use_true_random=False))
def test_a_tree_without_filters_is_empty(put: list[tuple[str, str]], rng: object) -> None:
    tree: FilterTree[int] = FilterTree()
    for topic_filter, holder in put:
        tree.put(topic_filter, holder, 1)
    assert bool(tree) == bool(put)

    for topic_filter, holder in reversed(put):
        tree.drop(topic_filter, holder)
        tree.drop(topic_filter, "nobody")

    assert not tree


@given(st.lists(TOPICS))
def test_a_tree_forgets_its_topics(topics: list[str]) -> None:
    tree: TopicTree[str] = TopicTree()
    for each in topics:
        tree.put(each, each)
        assert tree.get(each) == each
    assert len(tree) == len(set(topics))

    for each in topics:
        tree.drop(each)

    assert len(tree) == 0
    assert list(tree.match("#")) == []


def test_a_holder_is_found_once_for_each_of_its_filters() -> None:
    tree: FilterTree[int] = FilterTree()
    tree.put("a/+", "ada", 0)
    tree.put("a/#", "ada", 2)
    tree.put("a/b", "ben", 1)

    assert sorted(tree.match("a/b")) == [("ada", 0), ("ada", 2), ("ben", 1)]

    tree.put("a/#", "ada", 1)
    assert sorted(tree.match("a")) == [("ada", 1)]
