"""What the section must say before the door is opened."""

from typing import Any

import pytest
from pydantic import ValidationError
from quorate_name_server.config import NameServerConfig


@pytest.mark.parametrize(
    "section",
    [
        {},
        {"remoting_host": "0.0.0.0"},
        {"remoting_port": 9876},
        {"remoting_port": 9876, "remoting_host": "localhost"},
        {"remoting_port": 9876, "remoting_host": "::1"},
        {"remoting_port": 9876, "remoting_host": "0.0.0.0", "remoting_insecure": True},
        {
            "remoting_port": 9876,
            "remoting_host": "0.0.0.0",
            "remoting_tls_only": True,
        },
    ],
)
def test_a_door_that_is_closed_or_guarded_is_accepted(section: dict[str, Any]) -> None:
    NameServerConfig.model_validate(section)


@pytest.mark.parametrize(
    ("section", "repair"),
    [
        ({"remoting_port": 9876, "remoting_host": "0.0.0.0"}, "remoting_insecure = true"),
        ({"controller_port": 9878, "remoting_host": "0.0.0.0"}, "remoting_insecure = true"),
        (
            {"remoting_port": 9876, "remoting_host": "broker", "remoting_cert_file": "a.pem"},
            "remoting_tls_only = true",
        ),
        ({"remoting_client_ca_file": "a.pem"}, "remoting_client_ca_file needs remoting_cert_file"),
    ],
)
def test_a_door_that_is_open_to_all_is_refused(section: dict[str, Any], repair: str) -> None:
    with pytest.raises(ValidationError, match=repair):
        NameServerConfig.model_validate(section)
