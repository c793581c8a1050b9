import re

from hypothesis import given, strategies as st
from quorate_mqtt.authorisation.rules import fits_pattern

TEXTS = st.text("ab*?", max_size=6)


@given(pattern=TEXTS, text=TEXTS)
def test_a_star_stands_for_any_characters_and_a_question_mark_for_one(
    pattern: str, text: str
) -> None:
    model = "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in pattern)

    assert fits_pattern(pattern, text) == bool(re.fullmatch(model, text))


def test_many_stars_take_no_longer_than_one() -> None:
    # A pattern that is tried in every way would not end.
    assert not fits_pattern("*a" * 200 + "*b", "a" * 5_000)
