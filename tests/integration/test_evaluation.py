"""`agentevol.evaluate`: a split played once, by a name or by a policy of the caller."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.server.environments import Duel
from support.server.threaded import served

import agentevol
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.engines.scripted import said
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.runs.evaluation import trial, usual_options
from agentgym_envs import UnknownEnvironment
from agentgym_envs.formats import Plain
from agentgym_envs.registry import REGISTRY
from agentgym_server import create_app
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
    with pytest.raises(ConfigError, match=r"named 'xml'; there are: modes, modes-1, .*, plain, react"):
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


@pytest.fixture
def duel(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """URL of a server of an environment with two seats, which is registered."""
    monkeypatch.setitem(REGISTRY, "duel", "support.server.environments:Duel")
    with served(create_app({"duel": Duel})) as url:
        yield url


def test_a_policy_plays_all_seats_or_one_and_the_expert_one(duel: str) -> None:
    figures = agentevol.evaluate("spray", "duel", url=duel)  # three tasks: say, stop
    assert (figures.n, figures.endings) == (6, {"terminated": 6})
    # the first seat says and stops, for 0.125 + 1; the other has said once, for 0.125 + 0.25
    assert figures.by["seat"] == {"seat 0": (3, 3), "seat 1": (0, 3)}
    assert figures.mean_reward == (1.125 + 0.375) / 2
    alone = agentevol.evaluate("spray", "duel", url=duel, seats=1)
    assert (alone.n, alone.successes, "seat" in alone.by) == (3, 3, False)
    assert agentevol.evaluate("expert", "duel", url=duel).n == 3


def test_seats_that_there_are_not_are_refused(duel: str, url: str) -> None:
    with pytest.raises(ConfigError, match="spray cannot play 3 seats: duel has 2"):
        agentevol.evaluate("spray", "duel", url=duel, seats=3)
    with pytest.raises(ConfigError, match="expert cannot play 2 seats: duel has 2"):
        agentevol.evaluate("expert", "duel", url=duel, seats=2)
    with pytest.raises(ConfigError, match="spray cannot play 2 seats: guess has 1"):
        agentevol.evaluate("spray", "guess", url=url, seats=2)


def test_options_of_the_environment_are_settings() -> None:
    played = trial(
        "expert",
        EnvironmentConfig(name="assistant"),
        "test",
        difficulty="single",
        episodes=1,
        temperature=0.0,
        seed=0,
        started=lambda _total: lambda _batch: None,
        engine=["environment.options.tools_in=text"],
    )
    (episode,) = played.episodes
    assert "\nsubmit(status, answer?, reason_code?, note?)\n" in episode.initial_observation
    assert played.remarks() == ["options of the environment: tools_in=text"]
    assert episode.succeeded()


def test_weights_are_shown_an_environment_as_runs_show_it() -> None:
    assistant = EnvironmentConfig(name="assistant")
    assert usual_options("starter", assistant) == {"tools_in": "text"}
    assert usual_options("some/folder", EnvironmentConfig(name="guess")) == {}
    for without_weights in ("expert", "openai:m", Counting(1)):
        assert usual_options(without_weights, assistant) == {}
    assert usual_options("starter", EnvironmentConfig(name="assistant", url="http://localhost:1")) == {}
