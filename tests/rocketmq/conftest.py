"""Everything here runs the stock parts of RocketMQ: `tox -e rocketmq`."""

import pytest

from tests.support.rocketmq import stock


@pytest.fixture(autouse=True, scope="session")
def _stock_parts() -> None:
    if why := stock.missing():
        pytest.skip(why)
