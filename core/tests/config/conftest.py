"""What the tests of configuration share: a plugin's section and a way to load a text."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from quorate.config import ConfigError, ConfigProblem, Settings, load


class Peer(BaseModel):
    """A peer of the greeting plugin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(default="http://localhost", description="Where it is.")
    retries: int = Field(default=2, ge=0, description="How often it is tried again.")


class Greeting(BaseModel):
    """Settings of the greeting plugin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: tuple[str, ...] = Field(default=("hello",), description="Words to greet with.")
    pause_s: float = Field(default=0.5, ge=0, description="Pause between two, in seconds.")
    loud: bool = Field(default=False, description="Whether to shout.")
    password: SecretStr | None = Field(default=None, description="Opens the door.")
    level: int | str = Field(default=1, description="A number or a name.")
    peer: Peer = Field(default=Peer(), description="The first peer.")
    peers: dict[str, Peer] = Field(default_factory=dict, description="More peers, by name.")
    fallbacks: list[Peer] = Field(default_factory=list, description="Tried in turn.")


class Needy(BaseModel):
    """Settings of a plugin that cannot do without one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    license: str = Field(description="The text of the licence.")


SECTIONS: Mapping[str, type[BaseModel] | None] = {
    "greeting": Greeting,
    "needy": Needy,
    "plain": None,
}

Loading = Callable[..., Settings]
Refusing = Callable[..., tuple[ConfigProblem, ...]]


@pytest.fixture
def loading(tmp_path: Path) -> Loading:
    def loaded(text: str, **environ: str) -> Settings:
        file = tmp_path / "quorate.toml"
        file.write_text(text, encoding="utf-8")
        return load(file, SECTIONS, environ)

    return loaded


@pytest.fixture
def refusing(loading: Loading) -> Refusing:
    def refused(text: str, **environ: str) -> tuple[ConfigProblem, ...]:
        with pytest.raises(ConfigError) as caught:
            loading(text, **environ)
        return caught.value.problems

    return refused


@pytest.fixture
def sections() -> Mapping[str, type[BaseModel] | None]:
    return SECTIONS


@pytest.fixture
def greeting() -> type[Greeting]:
    return Greeting
