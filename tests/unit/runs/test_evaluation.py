"""`agentevol.evaluate`: a split played once, by a name or by a policy of the caller."""

from pathlib import Path
from typing import Any

import pytest

import agentevol
from agentevol.config.sections import EnvironmentConfig
from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.engines.scripted import said
from agentevol.rollout.environment_server import EnvironmentServer
from agentgym_envs import UnknownEnvironment
from agentgym_envs.formats import Plain
from agentgym_store import Sample


class Counting:
    """Guesses `first` and then counts up; says nothing where it is told to break."""

    name = "counting"
    version = 0

    def __init__(self, first: int) -> None:
        self.first = first
        self.released: list[str] = []

    async def act(self, conversation: agentevol.Conversation, seed: int) -> Sample:
        if self.first < 0:
            raise PolicyFault("told to break")
        return said(str(self.first + len(conversation.samples)))

    def release(self, conversation_id: str) -> None:
        self.released.append(conversation_id)


class Bracketed(Plain):
    def parse(self, text: str) -> str:
        return text.strip("[]")

    def render(self, action: str) -> str:
        return f"[{action}]"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Any:
    log: Path = tmp_path_factory.mktemp("server") / "log"
    with EnvironmentServer(EnvironmentConfig(name="guess"), log) as server:
        yield server.url


def test_a_policy_of_the_caller_is_evaluated(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    policy = Counting(1)
    figures = agentevol.evaluate(policy, "guess", url=url)  # the test split: 3 and 6, in four turns
    assert (figures.split, figures.n, figures.successes) == ("test", 2, 1)
    assert figures.endings == {"terminated": 1, "truncated(max_turns)": 1}
    assert sorted(policy.released) == ["eval/0/guess-3", "eval/1/guess-6"]
    assert agentevol.evaluate(policy, "guess", split="valid", episodes=1, url=url).n == 1
    assert capsys.readouterr().out == ""


def test_a_name_gives_what_the_command_gives(url: str) -> None:
    figures = agentevol.evaluate("expert", "guess", split="valid", url=url)
    assert (figures.n, figures.successes, figures.mean_reward, figures.mean_turns) == (2, 2, 1.0, 1.0)


@pytest.mark.parametrize("action_format", ["react", f"{__name__}:Bracketed"])
def test_a_script_speaks_the_format(url: str, action_format: str) -> None:
    figures = agentevol.evaluate("expert", "guess", split="valid", url=url, action_format=action_format)
    assert (figures.n, figures.successes) == (2, 2)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ConfigError, match="no action format named 'xml'; there are: plain, react"):
        agentevol.evaluate("expert", "guess", action_format="xml")


def test_failed_episodes_are_counted_and_the_first_is_told(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = agentevol.evaluate(Counting(-1), "guess", url=url)
    assert (figures.n, figures.endings) == (0, {"failed(policy)": 2})
    assert "2 episodes failed; the first: told to break" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": ["engine.slots=8"]}, "engine.slots=8 has no effect: counting is a policy"),
        ({"max_new_tokens": 8}, "max_new_tokens has no effect: counting is a policy"),
    ],
)
def test_settings_that_a_policy_does_not_read_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(agentevol.ConfigError, match=message):
        agentevol.evaluate(Counting(1), "guess", **settings)


def test_an_unknown_environment_is_not_said_to_lack_a_starter() -> None:
    with pytest.raises(UnknownEnvironment, match="no environment named 'nope'; there are: "):
        agentevol.evaluate(env="nope")
