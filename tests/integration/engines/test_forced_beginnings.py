"""A message that an engine is made to begin: forced tokens are in the record, and never learnt."""

import httpx
import numpy as np
import pytest
from support.runs import episode_request
from support.tiny_models import write_guess_model

from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.learn.batches.packing import episode_sequences
from agentevol.rollout.episode import play
from agentgym_client import EnvClient
from agentgym_envs.formats import Plain
from agentgym_envs.guess import Guess
from agentgym_server.app import create_app
from agentgym_store.records import Trajectory


class Begun(Plain):
    name, beginning = "begun", "4"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint(write_guess_model(tmp_path_factory.mktemp("begun"), spread=0.4), 0)


async def episode(model: Checkpoint, form: Plain) -> Trajectory:
    engine = EmbeddedEngine(model, slots=1, threads=1)
    try:
        policy = engine.serve(Sampling(max_new_tokens=2))
        app = create_app({"guess": Guess})
        async with EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(app)) as world:
            request = episode_request(env="guess", task_id="guess-7", max_turns=2)
            return await play(world, policy, request, form)
    finally:
        engine.close()


async def test_forced_tokens_begin_every_sample_and_are_context(model: Checkpoint):
    found = await episode(model, Begun())
    samples = [turn.sample for turn in found.turns if turn.sample]
    assert len(samples) == 2
    for sample in samples:
        assert sample.text.startswith("4")
        assert sample.loss_mask == (0, *(1,) * (len(sample.token_ids) - 1))
        assert sample.logprobs[0] == 0.0
        assert all(logp < 0 for logp in sample.logprobs[1:])
    first, second = samples
    read = (*first.prompt_ids, *first.token_ids)
    assert second.prompt_ids[: len(read)] == read  # the conversation goes on after what was forced
    (sequence,) = episode_sequences(found, 1.0)
    drawn = sum(len(sample.token_ids) - 1 for sample in samples)
    assert int(sequence.mask.sum()) == drawn
    forced = [len(first.prompt_ids), len(second.prompt_ids)]
    assert not sequence.mask[forced].any()
    assert np.isnan(sequence.rollout_logp[forced]).all()


async def test_without_a_beginning_all_tokens_are_drawn(model: Checkpoint):
    found = await episode(model, Plain())
    assert all(turn.sample is not None and turn.sample.loss_mask is None for turn in found.turns)
