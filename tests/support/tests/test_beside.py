import threading

import pytest

from tests.support.beside import beside


def fail(_: threading.Event) -> None:
    raise ValueError("this is why")


def test_a_wait_ends_with_the_error_of_what_it_waits_for() -> None:
    with pytest.raises(ValueError, match="this is why"), beside(fail) as failing:
        failing.until(lambda: None)


def test_an_error_is_raised_though_nothing_waits_for_it() -> None:
    with pytest.raises(ValueError, match="this is why"), beside(fail):
        pass


def test_an_error_is_raised_rather_than_what_comes_of_it() -> None:
    with pytest.raises(ValueError, match="this is why") as raised, beside(fail):
        raise TimeoutError
    assert isinstance(raised.value.__context__, TimeoutError)


def test_functions_run_until_the_block_ends() -> None:
    begun = threading.Barrier(3)

    def run(over: threading.Event) -> None:
        begun.wait(10)
        assert over.wait(10)

    with beside(run, run) as running:
        begun.wait(10)
        running.check()
