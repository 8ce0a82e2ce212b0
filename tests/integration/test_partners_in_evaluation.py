"""Evaluation of two policies in the seats of one episode: seats, links, scores, totals and faults."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from support.server.environments import Debate, Duel
from support.server.threaded import served
from typer.testing import CliRunner

import agentevol
from agentevol.cli import app as command_line
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Conversation
from agentevol.engines import openai
from agentevol.engines.scripted import said
from agentevol.loop.report.evaluations.records import read_records
from agentevol.loop.report.evaluations.summary import EvaluationFigures, figures_of
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.seats import play_seats
from agentevol.runs.evaluation import Trial, trial
from agentevol.runs.seating import Seating
from agentgym_client import EnvClient, Session
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.formats import FORMATS, Plain
from agentgym_envs.guess import Guess
from agentgym_envs.registry import REGISTRY
from agentgym_envs.social.environment import SEATS, Social
from agentgym_server.app import create_app
from agentgym_store.records import Sample, Trajectory

WORLDS = {"debate": Debate, "duel": Duel, "social": Social, "guess": Guess}


class Speaker:
    """Says the words of its plan, one in each turn."""

    version = 0

    def __init__(self, name: str, plan: str) -> None:
        self.name, self._plan = name, plan.split()

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        return said(self._plan[len(conversation.samples)])

    def release(self, conversation_id: str) -> None:
        pass


class Shouting(Plain):
    """Actions in capitals."""

    def parse(self, text: str) -> str:
        return text.upper()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of environments with several seats."""
    with served(create_app(WORLDS)) as url:
        yield url


def play(url: str, model: Any = None, partner: Any = None, **choices: Any) -> Trial:
    """An evaluation in `debate`: the policy says `good good`, its partner `bad good`, but for `choices`."""
    seating = Seating(
        Speaker("rival", "bad good") if partner is None else partner,
        choices.pop("partner_format", None),
        choices.pop("policy_seats", None),
    )
    report = choices.pop("report", lambda batch: None)
    environment = EnvironmentConfig(name=choices.pop("env", "debate"), url=url)
    plain = {"difficulty": None, "episodes": None, "temperature": 0.0, "seed": 0}
    return trial(
        model or Speaker("own", "good good"),
        environment,
        "test",
        started=lambda total: report,
        seating=seating,
        **{**plain, **choices},
    )


def figures(played: Trial) -> EvaluationFigures:
    return figures_of(played.records(), ["source", "relationship"])


def test_a_policy_plays_each_task_once_in_each_seat_beside_its_partner(url: str) -> None:
    played = play(url)
    assert (played.requested, len(played.trajectories), len(played.episodes)) == (8, 16, 8)
    assert [one.seat for one in played.episodes] == [0, 1] * 4
    assert [one.task_id for one in played.episodes] == [
        f"test/{number}" for number in (0, 0, 1, 1, 2, 2, 3, 3)
    ]
    assert {one.policy for one in played.episodes} == {"own"}
    first = played.trajectories[:4]
    assert [one.episode_id for one in first] == ["eval/0/test/0/policy-0"] * 2 + [
        "eval/0/test/0/policy-1"
    ] * 2
    assert [(one.purpose, one.policy, one.seat) for one in first] == [
        ("evaluate", "own", 0),
        ("partner", "rival", 1),
        ("partner", "rival", 0),
        ("evaluate", "own", 1),
    ]
    assert [[turn.action for turn in one.turns] for one in first[:2]] == [["good", "good"], ["bad", "good"]]
    assert len({one.seed for one in first}) == 1  # both seats in the same episode of the world
    assert len({(one.iteration, one.task_id, one.attempt) for one in first}) == 1  # one group


def test_only_the_policys_seat_counts_and_the_partners_scores_are_beside(url: str) -> None:
    played = play(url)
    found, summary = figures(played), played.summary("test")
    assert (summary.n, summary.mean_reward, summary.by["seat"]) == (
        8,
        1.0,
        {"seat 0": (4, 4), "seat 1": (4, 4)},
    )
    goal = found.scores["goal"]
    assert (goal.mean, goal.n, goal.clusters) == (10.0, 8, 2)  # two tasks share a scenario
    assert summary.dimensions["goal"] == goal
    assert (found.partner["goal"].mean, found.partner["goal"].n) == (5.0, 8)
    # charm is defined in the first seat only
    assert (found.scores["charm"].mean, found.scores["charm"].n) == (1.0, 4)
    assert {seat: means["charm"].n for seat, means in found.by_seat.items()} == {"0": 4, "1": 0}
    assert {name: means["goal"].n for name, means in found.by["source"].items()} == {"books": 4, "films": 4}
    assert list(found.by["relationship"]) == ["0", "1", "2", "3"]
    assert found.endings == {"terminated": 8}


@pytest.mark.parametrize("seat", [0, 1])
def test_one_seat_can_be_chosen(url: str, seat: int) -> None:
    played = play(url, policy_seats=(seat,))
    assert (played.requested, [one.seat for one in played.episodes]) == (4, [seat] * 4)


def test_in_self_play_both_seats_are_the_policys(url: str) -> None:
    played = play(url, Speaker("own", "good bad"), "self")
    assert (played.requested, len(played.trajectories), len(played.episodes)) == (4, 8, 8)
    found = figures(played)
    assert (found.agents, found.scores["goal"].n, found.scores["goal"].mean, found.partner) == (8, 8, 5.0, {})
    assert {record.partner for record in played.records()} == {"self"}


@pytest.mark.parametrize("name", ["environment", "rule"])
def test_beside_the_environment_there_is_one_seat(url: str, name: str) -> None:
    played = play(url, partner=name)
    assert [(one.episode_id, one.seat) for one in played.trajectories] == [(None, 0)] * 4
    assert {(one.partner, one.seat) for one in played.records()} == {("environment", 0)}


def test_a_partner_may_write_in_another_format(url: str) -> None:
    played = play(url, partner=Speaker("loud", "a loud"), partner_format=f"{__name__}:Shouting")
    told = {(one.role, one.action_format): one.info["loud"] for one in played.records()}
    assert told == {("policy", "plain"): 0, ("partner", f"{__name__}:Shouting"): 1}


def test_repeats_have_other_seeds_and_the_seats_of_a_repeat_the_same(url: str) -> None:
    played = play(url, repeats=3, episodes=1)
    seeds = {(one.attempt, one.seed) for one in played.trajectories}
    assert (played.requested, len(played.trajectories)) == (6, 12)
    assert sorted(attempt for attempt, _ in seeds) == [0, 1, 2]
    assert len({seed for _, seed in seeds}) == 3


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"policy_seats": (2,)}, "no seat 2: debate has the seats 0 to 1"),
        ({"partner": "self", "policy_seats": (0,)}, "are chosen beside a model, not beside 'self'"),
        ({"partner": "rule", "policy_seats": (1,)}, "are chosen beside a model, not beside 'environment'"),
        ({"partner": "rule", "partner_format": "react"}, "a partner's format are chosen beside a model"),
        ({"partner": "expert", "env": "guess"}, "partner expert has no effect: one seat of guess is played"),
        ({"partner": "self", "env": "guess"}, "partner self has no effect: one seat of guess is played"),
        ({"partner": "idle", "env": "guess"}, "partner idle has no effect: one seat of guess is played"),
        ({"partner": "nowhere"}, "no model 'nowhere'"),
        ({"model": "expert", "partner": "self", "env": "duel"}, "expert cannot play 2 seats: duel has 2"),
        ({"partner": "expert", "env": "duel"}, "expert is no partner"),
        ({"engine": ["engine.slots=2"]}, "engine.slots=2 has no effect: own is a policy"),
    ],
)
def test_a_partner_or_a_seat_that_cannot_be_is_refused(
    url: str, choices: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTRY, "duel", "support.server.environments:Duel")
    with pytest.raises(ConfigError, match=message):
        play(url, **choices)


def test_a_policy_of_the_caller_has_a_partner(url: str) -> None:
    found = agentevol.evaluate(
        Speaker("own", "good good"), "debate", url=url, partner=Speaker("rival", "a b")
    )
    assert (found.n, found.dimensions["goal"].mean) == (8, 10.0)


# An endpoint that fails for some tasks


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Counts replies by status: `good`, but 400 to who was told of episode 1 or 3."""
    statuses = Counter[int]()
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def answer(request: Request) -> JSONResponse:
        told = json.dumps((await request.json())["messages"])
        status = 400 if "episode 1" in told or "episode 3" in told else 200
        statuses[status] += 1
        message = {"message": {"role": "assistant", "content": "good"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        return JSONResponse({"choices": [message], "usage": usage}, status)

    class Patched(openai.OpenAIPolicy):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **{**options, "transport": httpx.ASGITransport(app)})

    monkeypatch.setattr(openai, "OpenAIPolicy", Patched)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://host/v1")
    return statuses


def test_a_partner_whose_endpoint_fails_ends_both_seats_without_a_score(
    url: str, endpoint: Counter[int]
) -> None:
    played = play(url, partner="openai:flaky")
    kinds = Counter(
        (one.purpose, one.ending.kind, getattr(one.ending, "failure", "")) for one in played.trajectories
    )
    assert kinds == {
        ("evaluate", "terminated", ""): 4,
        ("partner", "terminated", ""): 4,
        ("evaluate", "failed", "partner"): 4,
        ("partner", "failed", "policy"): 4,
    }
    found, summary = figures(played), played.summary("test")
    assert (summary.n, summary.mean_reward) == (4, 1.0)  # with failures as 0 it would be 0.5
    assert found.endings == {"failed(partner)": 4, "terminated": 4}
    assert sum(found.endings.values()) == played.requested == found.episodes == 8
    assert found.failures == {"policy of the partner": 4}
    assert (found.scores["goal"].n, found.scores["goal"].clusters) == (4, 2)
    assert all(one.reward is None for one in played.records() if one.ending.startswith("failed"))
    assert endpoint[400] == 4


def test_a_policy_whose_endpoint_fails_is_told_as_its_own_failure(url: str, endpoint: Counter[int]) -> None:
    played = play(url, "openai:flaky", "self")
    found = figures(played)
    assert found.endings == {"failed(partner)": 2, "failed(policy)": 2, "terminated": 4}
    assert (found.failures, found.agents, found.played) == ({"policy": 2}, 8, 4)
    assert played.usage is not None
    assert found.tokens_per_turn == 3.0
    assert endpoint[200] == 1 + 2 * 4  # the first answer, and two tasks of four messages


@pytest.mark.usefixtures("endpoint")
def test_two_endpoints_count_their_own_tokens(url: str) -> None:
    played = play(url, "openai:one", "openai:two", episodes=1)
    assert played.partner is not None
    assert played.partner.usage is not None
    assert played.usage is not None
    assert played.usage is not played.partner.usage
    assert [usage.requests for usage in (played.usage, played.partner.usage)] == [1 + 4, 1 + 4]
    assert {(one.role, one.model, one.tokens) for one in played.records()} == {
        ("policy", "openai:one", 6),
        ("partner", "openai:two", 6),
    }


# Records


def test_records_are_written_while_episodes_are_played(url: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    played = play(url, records=path)
    assert read_records(path) == sorted(played.records(), key=lambda record: record.id)

    class Stop(Exception):
        pass

    seen: list[Trajectory] = []

    def report(batch: Any) -> None:
        seen.extend(batch)
        if len(seen) == 5:
            raise Stop

    with pytest.raises(Stop):
        play(url, records=tmp_path / "cut.jsonl", report=report)
    assert sorted(one.id for one in read_records(tmp_path / "cut.jsonl")) == sorted(one.id for one in seen)


def test_records_that_are_there_are_not_overwritten(url: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        play(url, records=path)
    assert path.read_text() == "mine"


def command(*arguments: str) -> Any:
    return CliRunner().invoke(command_line, [*arguments])


def evaluated(url: str, *more: str) -> Any:
    return command("eval", "--env", "debate", "--url", url, "--model", "spray", *more)


def test_the_command_prints_scores_groups_and_sums(url: str, tmp_path: Path) -> None:
    done = evaluated(url, "--partner", "spray", "--by", "source", "--records", str(tmp_path / "r.jsonl"))
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.stdout.splitlines()]
    assert "clustered by scenario or task: 2 clusters" in done.stdout
    assert ["goal", "0.00", "0.00", "to", "0.00", "8", "0.00", "0.00", "0.00"] in rows
    assert ["charm", "1.00", "1.00", "to", "1.00", "4", "1.00", "–", "1.00"] in rows
    assert ["films", "charm", "1.00", "1.00", "to", "1.00", "2"] in rows
    assert "endings: 8 terminated = 8 episodes\n" in done.stdout
    assert "judge: model counter\n" in done.stdout
    assert len(read_records(tmp_path / "r.jsonl")) == 16


def test_the_command_prints_the_same_as_json(url: str) -> None:
    told = json.loads(evaluated(url, "--partner", "spray", "--seats", "1", "--by", "source", "--json").stdout)
    assert (told["partner"], told["requested"], told["agents"], told["endings"]) == (
        "spray",
        4,
        4,
        {"terminated": 4},
    )
    assert told["dimensions"]["goal"] == {"mean": 0.0, "low": 0.0, "high": 0.0, "n": 4, "clusters": 2}
    assert told["dimensions"]["charm"]["mean"] is None
    assert told["dimensions_by_seat"].keys() == {"1"}
    assert told["dimensions_by"]["source"].keys() == {"books", "films"}
    assert told["partner_dimensions"]["charm"]["n"] == 4
    assert told["by"]["kind"] == {"chat": [0, 4]}
    assert told["end_reasons"] == {"too_long": 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seats", "left"), "--seats 'left' is no seat: give 0, 1, ... or both"),
        (("--seats", "1"), "are chosen beside a model, not beside 'self'; 'environment' is one seat"),
        (("--by", "mood"), "no scores by 'mood'"),
        (("--partner-format", "xml"), "no action format named 'xml'"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(url: str, options: tuple[str, ...], message: str) -> None:
    done = evaluated(url, *options)
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)


def test_evaluations_are_compared_by_task_unless_they_were_judged_otherwise(url: str, tmp_path: Path) -> None:
    first, second, other = (str(tmp_path / name) for name in ("first", "second", "other"))
    play(url, Speaker("before", "good bad"), records=Path(first))
    play(url, Speaker("after", "good good"), records=Path(second))
    play(url, Speaker("after", "good good"), "self", records=Path(other))
    done = command("compare", first, second)
    assert done.exit_code == 0, done.output
    assert ["goal", "5.000", "10.000", "+5.000", "+5.000", "to", "+5.000", "8", "2"] in [
        line.split() for line in done.stdout.splitlines()
    ]
    refused = command("compare", first, other)
    assert 'differ in partner: "rival" and "self". --force' in str(refused.exception)
    assert "reward by kind" in command("compare", first, second, "--by=kind").stdout
    forced = command("compare", first, other, "--force", "--json")
    told = json.loads(forced.stdout)["against_first"][other]
    assert (told["differs_in"], told["scores"]["goal"]["difference"]["mean"]) == (
        {"partner": ['"rival"', '"self"']},
        5.0,
    )
    for given in ((first, str(tmp_path)), (str(tmp_path), str(tmp_path), "--force")):
        assert "give files of `agentevol eval --records` alone" in str(command("compare", *given).exception)
    alone = command("compare", first)
    assert ["goal", "5.00", "5.00", "to", "5.00", "8", "5.00", "5.00", "5.00"] in [
        line.split() for line in alone.stdout.splitlines()
    ]
    assert json.loads(command("compare", first, "--json").stdout)["dimensions"]["goal"]["n"] == 8


# Play through the server beside play in this process


class Improviser:
    """Draws messages, by conversation and turn."""

    name = "improviser"
    version = 0
    MESSAGES = (
        *("Hello.", "[OFFER 40.00]", "[OFFER me: hat=1 ball=1]", "[REJECT]", "[PROPOSE Tue 14]", "[CITE e1]"),
        *("[ASK budget]", "", "[non-verbal communication] nods", "[SELECT Ana]", "[ACCEPT]"),
    )

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        return said(self.message(conversation.id, len(conversation.samples)))

    def message(self, conversation_id: str, turn: int) -> str:
        """The message of a turn."""
        return Random(f"{conversation_id}/{turn}").choice(self.MESSAGES)

    def release(self, conversation_id: str) -> None:
        pass


def request(task_id: str, seed: int) -> EpisodeRequest:
    return EpisodeRequest(
        id="e", run="r", iteration=0, purpose="evaluate", env="social", task_id=task_id, split="test",
        kind="", difficulty="", instruction="", seed=seed, attempt=0, seats=2,
    )  # fmt: skip


def in_process(task_id: str, seed: int) -> dict[str, list[tuple[str, str, float, Mapping[str, Any]]]]:
    """Each seat's turns in an environment of this process: message, what it then read, reward and info."""
    world, improviser = Social(), Improviser()
    opening = world.reset_seats(world.task(task_id), seed)
    waiting: dict[str, Observation | StepResult] = dict(opening)
    turns: dict[str, list[tuple[str, str, float, Mapping[str, Any]]]] = {seat: [] for seat in SEATS}
    said_by: dict[str, list[str]] = {seat: [] for seat in SEATS}
    while True:
        (seat,) = waiting
        message = improviser.message(f"e/seat-{SEATS.index(seat)}", len(said_by[seat]))
        said_by[seat].append(message)
        results = world.step_seats({seat: message})
        for one, result in results.items():
            if said_by[one]:
                turns[one].append((said_by[one][-1], result.observation.text, result.reward, result.info))
        if any(result.terminated or result.truncated for result in results.values()):
            return turns
        waiting = dict(results)


@pytest.mark.parametrize("kind", ["price", "split", "friends", "schedule", "secrets", "persuade"])
async def test_two_seats_through_the_server_are_those_in_process_turn_by_turn(kind: str) -> None:
    app = create_app({"social": Social})
    ended = set[str]()
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as client:
        for number in range(12):
            task_id, seed = f"test/{kind}/{number % 3 + 1}/{number}", 100 + number
            served = await play_seats(client, Improviser(), request(task_id, seed), FORMATS["plain"])
            expected = in_process(task_id, seed)
            for one, seat in zip(served, SEATS, strict=True):
                found = [
                    (
                        turn.action,
                        turn.observation,
                        turn.reward,
                        {k: v for k, v in turn.info.items() if k != "state"},
                    )
                    for turn in one.turns[one.given_turns :]
                ]
                assert found == expected[seat]
            ended |= {one.ending.kind for one in served}
    assert ended <= {"terminated", "truncated"}


# A client that is gone


class Watched(EnvClient):
    """A client that shows the sessions that it opened."""

    sessions: tuple[Session, ...] = ()

    async def open_seats(self, *given: Any, **choices: Any) -> tuple[Session, ...]:
        self.sessions = await super().open_seats(*given, **choices)
        return self.sessions


class Cut(Improviser):
    """Loses the session of a seat in that seat's second turn: somebody else ends it on the server."""

    def __init__(self, seat: int, client: Watched, transport: httpx.ASGITransport) -> None:
        self._seat, self._client, self._transport = seat, client, transport

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        if conversation.id.endswith(f"seat-{self._seat}") and len(conversation.samples) == 1:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://127.0.0.1:1") as other:
                gone = await other.delete(f"/sessions/{self._client.sessions[self._seat].id}")
                assert gone.status_code == 200
        return said("Hello.")


@pytest.mark.parametrize("seat", [0, 1])
async def test_a_seat_whose_session_is_gone_ends_the_other_as_failed_partner(seat: int) -> None:
    transport = httpx.ASGITransport(create_app({"social": Social}))
    async with Watched("http://127.0.0.1:1", transport=transport) as client:
        policy = Cut(seat, client, transport)
        found = await play_seats(client, policy, request("test/price/1/0", 1), FORMATS["plain"])
        assert (await client.health())["sessions"]["active"] == 0
    failures = {one.seat: one.ending.failure for one in found if one.ending.kind == "failed"}
    assert failures == {seat: "session-closed", 1 - seat: "partner"}
    assert [one.total_reward for one in found] == [None, None]
