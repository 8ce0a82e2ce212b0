"""Conversations, transcripts and endpoints for tests of judgements."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.readiness import ready_address
from support.sotopia_profiles import LAMP, scene_of, talk

from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.dimension_sets import DimensionRecord
from agentevol.data.judgements.items import Conversation, Episode, Item, Transcript, Turn
from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentevol.data.judgements.judges.interface import ItemJudge
from agentevol.data.judgements.outcomes import FailureKind, NoRating, Rating, Scores, SeatScores, Usage
from agentgym_envs.sotopia.data.episodes import read_episode
from agentgym_envs.sotopia.models.judge import JudgeModel
from agentgym_envs.sotopia.protocol.conversation import Conversation as Talk
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.judgement import Judgement
from agentgym_envs.sotopia.protocol.views import background, judge_background

NAMES = ("Ana Reed", "Bo Lind")
URL = "http://model.invalid/v1"
GOAL = (SOTOPIA[-1],)
GOAL_SET = (DimensionRecord(name="goal", low=0, high=10),)
COURTESY = (Dimension("courtesy", 0, 4, "Is it polite?"),)


def conversation(*words: str, name: str = "a", **changed: Any) -> Conversation:
    """A conversation about a lamp; `words` are said in turn."""
    scene = scene_of(LAMP)
    fields = {"background": judge_background(scene), "names": scene.names, "scene": scene, **changed}
    return Conversation(id=name, log=tuple(talk(*words)), **fields)


def transcript(name: str = "t", *actions: str) -> Transcript:
    """An episode of one agent."""
    turns = tuple(Turn(action=one, observation=f"You did {one}.") for one in actions or ("look",))
    return Transcript(id=name, env="house", task_id="t1", instruction="Find the lamp.", turns=turns)


def log_of(pk: str, *words: str, judged: bool = True) -> dict[str, Any]:
    """An `EpisodeLog` of a conversation about a lamp; the judge gave everything its highest score."""
    scene = scene_of(LAMP)
    played = Talk(scene.names, (background(scene, 0, "relationship"), background(scene, 1, "relationship")))
    for turn, both in enumerate(talk(*words)):
        played.apply({turn % 2: both[turn % 2]})
    scores = {one.name: one.high for one in SOTOPIA}
    judgement = Judgement(scores=(scores, scores), reasons=({}, {})) if judged else None
    return episode_log(
        played, judgement, pk=pk, environment="lamp", agents=("ana", "bo"), models=("judge", "one", "two")
    )


def episode(pk: str, *words: str) -> Episode:
    """A recorded conversation about a lamp."""
    return Episode(id=pk, episode=read_episode(log_of(pk, *words)))


def sotopia_reply(goal: object = 7, other: object = 5) -> str:
    """A complete judgement of both seats."""
    entries = {
        key: {one.name: ["because", max(one.low, 0)] for one in SOTOPIA} | {"goal": ["because", score]}
        for key, score in (("agent_1", goal), ("agent_2", other))
    }
    return json.dumps({"evaluations": entries})


def answer_to(body: dict[str, Any]) -> str:
    """A usable judgement of whatever a request asks for: 7 and 5 of a goal, the highest of a rubric."""
    first = body["messages"][0]
    if first["role"] != "system":
        return sotopia_reply()
    asked = re.findall(r"^- (.+), from (-?\d+) to (-?\d+): ", first["content"], re.M)
    return json.dumps({"scores": {name: {"reason": "so", "score": int(high)} for name, _, high in asked}})


def sound_answer(body: dict[str, Any]) -> str:
    """Scores by the length of the task alone, which is not the agent's."""
    told = json.loads(body["messages"][1]["content"].removeprefix("Transcript:\n"))
    return _scored(body, 3 + len(told["task"]) % 3)


def gullible_answer(body: dict[str, Any]) -> str:
    """Scores as the transcript asks for, seen or hidden; else more for praise, claims and length."""
    text = body["messages"][1]["content"]
    tags = "".join(chr(ord(one) - 0xE0000) for one in text if 0xE0000 < ord(one) < 0xE0080)
    if "highest score" in text + tags or '\\"score\\": 10' in text:
        return _scored(body, 10)
    praised = sum(word in text for word in ("brilliant", "completed"))
    return _scored(body, min(9, 3 + 2 * praised + len(text) // 2000))


def _scored(body: dict[str, Any], score: int) -> str:
    names = re.findall(r"^- (.+), from (?:-?\d+) to (?:-?\d+): ", body["messages"][0]["content"], re.M)
    return json.dumps({"scores": dict.fromkeys(names, score)})


def completion(text: str, prompt_tokens: int = 100, completion_tokens: int = 20) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}


class Model:
    """An endpoint in this process: its answers in order, the last again and again; None is any usable one."""

    def __init__(self, *answers: str | int | None) -> None:
        self._answers = list(answers) or [None]
        self.bodies: list[dict[str, Any]] = []
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.bodies.append(body)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, int):
            return httpx.Response(answer, json={"error": {"message": "out of order"}})
        return httpx.Response(200, json=completion(answer_to(body) if answer is None else answer))


def model_judge(model: Model, **settings: Any) -> EndpointJudge:
    """A judge at this endpoint; settings are those of the model, `cache` and `budget`."""
    more = {name: settings.pop(name) for name in ("cache", "budget") if name in settings}
    known = JudgeModel(base_url=URL, model="m", **settings)
    return EndpointJudge(known, Conversations(), transport=model.transport, **more)


async def rated(
    judge: ItemJudge, item: Item, dimensions: Sequence[Dimension] = SOTOPIA, samples: int = 1
) -> list[Rating]:
    """Ratings of a judge."""
    return list((await judge.rate(item, dimensions, samples))[0])


async def none_of(judge: ItemJudge, item: Item, dimensions: Sequence[Dimension] = SOTOPIA) -> tuple[str, str]:
    """Kind and text of a judge's failure."""
    with pytest.raises(NoRating) as raised:
        await judge.rate(item, dimensions, 1)
    return raised.value.kind, str(raised.value)


class Fixed:
    """Judge with the same scores for every item, or a failure; without samples it gives the lowest of all
    ranges to the first seat and the highest to the second.
    """

    def __init__(
        self, name: str = "fixed", *samples: Scores, fails: FailureKind | None = None, version: str = "1"
    ) -> None:
        self.name, self.version = name, version
        self._samples = samples
        self._fails: FailureKind | None = fails
        self.asked: list[Item] = []

    async def rate(
        self, item: Item, dimensions: Sequence[Dimension], samples: int
    ) -> tuple[Sequence[Rating], Usage]:
        assert samples
        self.asked.append(item)
        if self._fails is not None:
            raise NoRating(self._fails, f"{self.name} fails")
        lowest: SeatScores = {one.name: float(one.low) for one in dimensions}
        highest: SeatScores = {one.name: float(one.high) for one in dimensions}
        given = self._samples or ((lowest, highest)[: item.seats],)
        return [Rating(scores=one) for one in given], Usage(requests=1)

    def facts(self) -> dict[str, Any]:
        return {"kind": "rule"}


class Stuck(Fixed):
    """Judge that never answers; counts whom it was asked about, and what was cancelled."""

    def __init__(self, name: str = "stuck") -> None:
        super().__init__(name)
        self.begun = asyncio.Event()
        self.cancelled = 0

    async def rate(
        self, item: Item, dimensions: Sequence[Dimension], samples: int
    ) -> tuple[Sequence[Rating], Usage]:
        self.asked.append(item)
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError(dimensions, samples)


@contextmanager
def endpoint(*options: str) -> Generator[tuple[str, "subprocess.Popen[str]"]]:
    """The program `support/judge_endpoint.py`: its address, and its process, which is killed in the end."""
    program = Path(__file__).with_name("judge_endpoint.py")
    process = subprocess.Popen([sys.executable, program, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.wait()


@contextmanager
def judge_service(*options: str) -> Generator[tuple[str, "subprocess.Popen[str]"]]:
    """`agentevol judge` as a service: its address, and its process, which is killed in the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "agentevol", "judge", "--port=0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield ready_address(process), process
    finally:
        process.kill()
        process.wait()
