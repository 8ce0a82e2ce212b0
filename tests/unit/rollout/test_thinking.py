"""Modes of thinking in the record of a turn, and their summary."""

from collections.abc import Sequence
from types import SimpleNamespace

import httpx
import pytest
from rich.console import Console
from support.runs import episode_request
from support.trajectories import trajectory

from agentevol.core.action_formats.registry import action_format
from agentevol.core.protocols import Conversation
from agentevol.core.summaries import EvaluationSummary, IterationSummary, ModeFigures, RunSummary
from agentevol.data.training_sequences import facts
from agentevol.loop.report.rates import thinking_text
from agentevol.loop.report.thinking_modes import thinking_table
from agentevol.loop.state.progress import evaluation_table
from agentevol.rollout.episode import play
from agentevol.rollout.metrics import summarise
from agentevol.rollout.thinking import thinking_summary
from agentgym_client import EnvClient
from agentgym_envs.guess import Guess
from agentgym_envs.thinking import render
from agentgym_server.app import create_app
from agentgym_store.records import Failed, Sample, Trajectory, Turn


class Words:
    """A tokenizer with one token for each word."""

    def encode(self, text: str, add_special_tokens: bool) -> list[str]:
        return text.split()


class Speaker:
    """Says these texts in turn, and has a tokenizer."""

    name, version = "speaker", 1
    renderer = SimpleNamespace(tokenizer=Words())

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self.asked = texts, list[str]()

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        self.asked.append(conversation.beginning)
        text = self.texts[len(conversation.samples)]
        return Sample(text=text, prompt_ids=(1,), token_ids=(2, 3), logprobs=(-0.5, -0.5), policy_version=1)

    def release(self, conversation_id: str) -> None:
        pass


class Hearing(Guess):
    """Notes what it hears."""

    heard: list[str] = []  # noqa: RUF012 - one world for one test

    def step(self, action: str):
        self.heard.append(action)
        return super().step(action)


QUICK = render(1, (), "2")
THOUGHTFUL = render(2, ("it is low", "short", "say two"), "3")
BROKEN = THOUGHTFUL.replace("Style:", "Manner:")
EXTRA = f"{render(1, (), '4')} and more"
"""Well formed by the released code's rules, which allow text after the answer."""


async def played(texts: Sequence[str], form: str = "modes") -> tuple[Trajectory, Speaker]:
    Hearing.heard.clear()
    speaker = Speaker(texts)
    app = create_app({"guess": Hearing})
    async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as world:
        request = episode_request(env="guess", task_id="guess-4", max_turns=len(texts))
        return await play(world, speaker, request, action_format(form)), speaker


async def test_a_turn_has_its_mode_and_its_tokens_and_the_world_reads_the_answer_alone():
    found, _ = await played([QUICK, THOUGHTFUL, EXTRA])
    assert Hearing.heard == ["2", "3", "4"]
    told = [
        {key: turn.info.get(key) for key in ("mode", "thinking_tokens", "answer_tokens", "fault")}
        for turn in found.turns
    ]
    assert told == [
        {"mode": 1, "thinking_tokens": 0, "answer_tokens": 1, "fault": None},
        {"mode": 2, "thinking_tokens": 9, "answer_tokens": 1, "fault": None},
        {"mode": -1, "thinking_tokens": 0, "answer_tokens": 1, "fault": "outside_template"},
    ]
    assert [turn.info.get("invalid_action", False) for turn in found.turns] == [False, False, True]
    learnt = facts(found)
    assert learnt.modes == (1, 2, -1)
    assert learnt.invalid == (False, False, True)


async def test_a_malformed_reply_has_no_tokens_of_parts():
    found, _ = await played([BROKEN, QUICK])
    assert found.turns[0].info["fault"] == "missing_header"
    assert "thinking_tokens" not in found.turns[0].info
    assert Hearing.heard == ["3", "2"]  # read leniently all the same


async def test_a_fixed_mode_is_asked_for_and_another_one_is_malformed():
    found, speaker = await played([THOUGHTFUL, THOUGHTFUL], "modes-2")
    assert speaker.asked == ["Thinking Level: 2"] * 2
    assert [turn.info["mode"] for turn in found.turns] == [2, 2]
    other, _ = await played([THOUGHTFUL], "modes-3")
    assert isinstance(other.ending, Failed)
    assert other.ending.failure == "policy"
    assert "cannot be made to begin its messages with 'Thinking Level: 3'" in other.ending.detail


async def test_other_formats_have_no_modes():
    found, speaker = await played(["2", "3"], "plain")
    assert speaker.asked == ["", ""]
    assert all("mode" not in turn.info for turn in found.turns)
    assert thinking_summary([found]) is None


def turn(mode: int, tokens: int, **counts: int) -> Turn:
    sample = Sample(
        text="t", prompt_ids=(1,), token_ids=(1,) * tokens, logprobs=(-1.0,) * tokens, policy_version=0
    )
    return Turn(action="a", observation="o", reward=0.0, sample=sample, info={"mode": mode, **counts})


EPISODES = [
    trajectory(
        id="a",
        turns=(
            turn(1, 4, thinking_tokens=0, answer_tokens=2),
            turn(2, 10, thinking_tokens=6, answer_tokens=4),
        ),
    ),
    trajectory(id="b", turns=(turn(2, 20, thinking_tokens=14, answer_tokens=6), turn(-1, 6))),
]


def test_an_endpoint_that_gives_no_tokens_has_no_mean_of_tokens():
    found = thinking_summary([trajectory(id="a", turns=(turn(1, 0), turn(2, 0)))])
    assert found is not None
    assert found.all == ModeFigures(turns=2, tokens=None)
    assert thinking_text(found) == "modes 1 to 4: 50.0 %, 50.0 %, 0.0 %, 0.0 %; malformed 0.0 %"


def test_the_summary_counts_modes_by_turn_and_means_of_tokens():
    found = thinking_summary(EPISODES)
    assert found is not None
    assert found.all == ModeFigures(turns=4, tokens=10.0, thinking_tokens=20 / 3, answer_tokens=4.0)
    assert found.malformed == 0.25
    assert found.by_mode == {
        1: ModeFigures(turns=1, tokens=4.0, thinking_tokens=0.0, answer_tokens=2.0),
        2: ModeFigures(turns=2, tokens=15.0, thinking_tokens=10.0, answer_tokens=5.0),
    }
    assert found.by_turn == {1: {1: 1, 2: 1}, 2: {-1: 1, 2: 1}}
    assert [found.share(mode) for mode in (1, 2, 3, 4)] == [0.25, 0.5, 0.0, 0.0]


def test_failed_episodes_and_given_turns_are_left_out():
    broken = EPISODES[0].model_copy(update={"ending": Failed(failure="policy")})
    assert summarise([broken], "test").thinking is None
    given = EPISODES[0].model_copy(update={"given_turns": 1})
    found = thinking_summary([given])
    assert found is not None
    assert found.by_turn == {2: {2: 1}}


def test_an_evaluation_prints_its_modes():
    console = Console(record=True, width=160)
    summary = summarise(EPISODES, "test")
    console.print(evaluation_table("m", summary))
    line = (
        "modes 1 to 4: 25.0 %, 50.0 %, 0.0 %, 0.0 %; malformed 25.0 %;"
        " 10.0 tokens a turn, 6.7 of the thought, 4.0 of the answer"
    )
    assert line in " ".join(console.export_text().split())
    assert EvaluationSummary.model_validate_json(summary.model_dump_json()) == summary


def test_a_report_has_a_line_for_every_turn_of_the_first_and_the_last_iteration():
    evaluated = [
        IterationSummary(
            iteration=number, checkpoint="c", table_version=0, evaluation=summarise(EPISODES, "test")
        )
        for number in range(3)
    ]
    header, rows = thinking_table(RunSummary(run="r", environment="e", iterations=tuple(evaluated)))
    assert header[:4] == ["iteration", "turn", "replies", "mode 1"]
    assert [row[:2] for row in rows] == [
        *(["0", "all"], ["0", "1"], ["0", "2"]),
        ["1", "all"],
        *(["2", "all"], ["2", "1"], ["2", "2"]),
    ]
    assert rows[0][2:] == ["4", "25.0 %", "50.0 %", "0.0 %", "0.0 %", "25.0 %", "10.0", "6.7", "4.0"]
    assert rows[2][2:8] == ["2", "0.0 %", "50.0 %", "0.0 %", "0.0 %", "50.0 %"]


@pytest.mark.parametrize("summary", [RunSummary(run="r", environment="e")])
def test_a_run_without_modes_has_no_such_table(summary: RunSummary):
    assert thinking_table(summary)[1] == []
