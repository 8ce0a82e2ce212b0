"""Conversations longer than the context: what ends, what is left out; every token stays on record."""

import asyncio
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.runs import episode_request
from transformers import AutoModelForCausalLM

from agentevol.config.run import load
from agentevol.config.sections.engine import EmbeddedConfig, VllmConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, ContextFull, Conversation, Message, Sampling
from agentevol.engines.overflow import prompt_of, shortened
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.learn.batches.packing import episode_sequences
from agentevol.models.rendering import ChatRenderer
from agentevol.rollout.engine_factory import start_engine
from agentevol.rollout.episode import play
from agentgym_client import EnvClient
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.formats import FORMATS
from agentgym_envs.guess import Guess, GuessTask
from agentgym_server.app import create_app
from agentgym_server.settings import ServerSettings
from agentgym_store.records import Sample, Trajectory

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)

CONTEXT = 256
TURNS = 24
SAMPLING = Sampling(max_new_tokens=6)
OPENING = "You are in the kitchen. On the table 1, you see a mug 1."


class Corridor(Guess):
    """Every action leads to another door; nothing is ever won."""

    max_turns = TURNS

    def reset(self, task: GuessTask, seed: int) -> Observation:
        self.doors = 0
        return Observation(text=OPENING)

    def step(self, action: str) -> StepResult:
        self.doors += 1
        return StepResult(observation=Observation(text=f"This is door {self.doors}."), reward=0.0)


def an_episode(engine: Any) -> Trajectory:
    """One that is played through the server and the client, to its end."""
    asked = episode_request(task_id="guess-1")

    async def played() -> Trajectory:
        app = create_app({"guess": Corridor}, settings=ServerSettings())
        transport = httpx.ASGITransport(app)
        async with EnvClient("http://127.0.0.1:1", transport=transport) as client:
            return await play(client, engine.serve(SAMPLING), asked, FORMATS["plain"])

    return asyncio.run(played())


def samples_of(episode: Trajectory) -> list[Sample]:
    return [turn.sample for turn in episode.turns if turn.sample is not None]


def check_tokens(episode: Trajectory, folder: Path) -> None:
    """Every sampled token is learnt once, after what was read, with the log-probability that it has there."""
    samples = samples_of(episode)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    for sample in samples:
        assert len(sample.prompt_ids) + SAMPLING.max_new_tokens <= CONTEXT
        with torch.no_grad():
            logits = model(torch.tensor([[*sample.prompt_ids, *sample.token_ids]])).logits[0]
        places = range(len(sample.prompt_ids) - 1, len(sample.prompt_ids) + len(sample.token_ids) - 1)
        logp = logits.log_softmax(-1)[list(places), list(sample.token_ids)]
        assert logp.tolist() == pytest.approx(list(sample.logprobs), abs=1e-3)
    rows = episode_sequences(episode, 1.0)
    assert {row.drift_events for row in rows} == {len(rows) - 1}
    learnt = [token for row in rows for token in row.token_ids[row.mask].tolist()]
    assert learnt == [token for sample in samples for token in sample.token_ids]


def check_shortened(episode: Trajectory, folder: Path, renderer: ChatRenderer) -> None:
    """It went on to the world's own end, in several rows, each with the opening."""
    assert (episode.ending.kind, episode.ending.limit) == ("truncated", "max_turns")
    assert len(episode.turns) == TURNS
    check_tokens(episode, folder)
    rows = episode_sequences(episode, 1.0)
    opening = renderer.prompt([Message("user", OPENING)])
    assert 2 < len(rows) < TURNS / 2  # a row goes on for several turns
    for row in rows:
        assert row.token_ids[: len(opening)].tolist() == opening
        first = int(row.turn[row.mask][0])
        text = renderer.tokenizer.decode(row.token_ids.tolist())
        assert f"door {first}." in text or first == 0  # what it answers to


Engines = Callable[..., Any]


@pytest.fixture
def started(checkpoints: dict[str, Path]) -> Generator[Engines]:
    """Starts engines, and ends them."""
    running: list[Any] = []

    def start(family: str, kind: type[EmbeddedConfig | VllmConfig] = EmbeddedConfig, **given: Any) -> Any:
        config = kind(slots=2, context=CONTEXT, **given)
        running.append(start_engine(config, Checkpoint(checkpoints[family], 0)))
        return running[-1]

    yield start
    for engine in running:
        engine.close()


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3, no thinking", "llama3"])
def test_the_embedded_engine_goes_on_without_the_oldest(
    families: Any, checkpoints: Any, started: Engines, name: str
):
    told = families[name].arguments
    episode = an_episode(started(name, overflow="drop_oldest", chat_template_kwargs=told))
    check_shortened(episode, checkpoints[name], ChatRenderer(families[name].tokenizer(), told))


def test_by_default_the_episode_ends(checkpoints: Any, started: Engines):
    episode = an_episode(started("qwen2.5"))
    assert (episode.ending.kind, episode.ending.limit) == ("truncated", "context")
    assert 1 < len(episode.turns) < TURNS
    check_tokens(episode, checkpoints["qwen2.5"])
    assert len(episode_sequences(episode, 1.0, kind="append_only")) == 1


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.parametrize("overflow", ["drop_oldest", "truncate"])
def test_vllm_does_the_same(families: Any, checkpoints: Any, started: Engines, overflow: str):
    engine = started("qwen3", VllmConfig, overflow=overflow)
    episode = an_episode(engine)
    if overflow == "truncate":
        assert (episode.ending.kind, episode.ending.limit) == ("truncated", "context")
        check_tokens(episode, checkpoints["qwen3"])
    else:
        check_shortened(episode, checkpoints["qwen3"], ChatRenderer(families["qwen3"].tokenizer()))


def conversation_of(renderer: ChatRenderer, exchanges: list[tuple[str, str]]) -> Conversation:
    conversation = Conversation("c", [Message("system", "Act."), Message("user", "Hm?")])
    for action, answer in exchanges:
        ids = renderer.action_ids(action)
        sample = Sample(
            text=action, prompt_ids=tuple(renderer.conversation_ids(conversation)), token_ids=tuple(ids),
            logprobs=(-1.0,) * len(ids), policy_version=0,
        )  # fmt: skip
        conversation.say(sample)
        conversation.hear(Observation(text=answer))
    return conversation


def test_what_is_left_is_the_opening_and_the_latest_exchanges(families: Any):
    renderer = ChatRenderer(families["qwen2.5"].tokenizer())
    conversation = conversation_of(renderer, [("go", "one"), ("to", "two"), ("table", "three")])

    def text(most: int) -> str:
        return renderer.tokenizer.decode(shortened(renderer, conversation, most))

    opening = "<|im_start|>system\nAct.<|im_end|>\n<|im_start|>user\nHm?<|im_end|>\n<|im_start|>assistant\n"
    latest = "table<|im_end|>\n<|im_start|>user\nthree<|im_end|>\n<|im_start|>assistant\n"
    before = "to<|im_end|>\n<|im_start|>user\ntwo<|im_end|>\n<|im_start|>assistant\n"
    whole = len(renderer.conversation_ids(conversation))
    assert text(0) == opening + latest
    assert text(whole - 1) == opening + before + latest
    assert shortened(renderer, conversation, whole) == renderer.conversation_ids(conversation)


def test_a_scripted_turn_is_encoded_since_nobody_sampled_it(families: Any):
    renderer = ChatRenderer(families["qwen2.5"].tokenizer())
    conversation = conversation_of(renderer, [("go", "one")])
    said = conversation.samples[0]
    conversation.samples[0] = said.model_copy(update={"prompt_ids": (), "token_ids": (), "logprobs": ()})
    assert shortened(renderer, conversation, 999) == renderer.prompt(conversation.messages)


actions = st.lists(st.sampled_from(["go", "to", "table", "1"]), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=40)
@given(exchanges=st.lists(st.tuples(actions, actions), max_size=8), context=st.integers(20, 160))
def test_prompts_fit_or_are_refused_and_change_only_where_they_do_not_fit(
    families: Any, exchanges: list[tuple[str, str]], context: int
):
    renderer = ChatRenderer(families["qwen3"].tokenizer())
    conversation = conversation_of(renderer, exchanges)
    whole = renderer.conversation_ids(conversation)
    try:
        prompt = prompt_of(renderer, conversation, SAMPLING, context, "drop_oldest")
    except ContextFull:
        least = shortened(renderer, conversation, 0)
        assert len(least) + SAMPLING.max_new_tokens > context
        return
    assert len(prompt) + SAMPLING.max_new_tokens <= context
    assert (prompt == whole) == (len(whole) + SAMPLING.max_new_tokens <= context)
    if prompt != whole:
        with pytest.raises(ContextFull):
            prompt_of(renderer, conversation, SAMPLING, context, "truncate")


def test_rows_that_only_append_and_conversations_that_are_cut_exclude_each_other():
    load(None, ["engine.overflow=drop_oldest"])
    load(None, ["select.sequences=append_only"])
    with pytest.raises(ConfigError, match="drop_oldest' begins sequences that do not extend"):
        load(None, ["engine.overflow=drop_oldest", "select.sequences=append_only"])
