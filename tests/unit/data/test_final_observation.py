"""The last sequence of an episode that a limit cut off goes on to where the policy would speak next."""

from pathlib import Path

import numpy as np
from support.trajectories import trajectory

from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import Message
from agentevol.data.final_observation import with_closing
from agentevol.data.training_sequences import grouped
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import starter_folder
from agentgym_store.records import Ending, Sample, Terminated, Trajectory, Truncated, Turn

MODEL: Path = starter_folder()
RENDERER = ChatRenderer(load_tokenizer(MODEL))
PROMPT = RENDERER.prompt([Message("user", "You are in a room.")])
SAID = RENDERER.action_ids("look")


def episode(name: str, ending: Ending) -> Trajectory:
    sample = Sample(
        text="look", prompt_ids=tuple(PROMPT), token_ids=tuple(SAID),
        logprobs=(-1.0,) * len(SAID), policy_version=0,
    )  # fmt: skip
    return trajectory(
        id=name,
        env="e",
        initial_observation="You are in a room.",
        turns=(Turn(action="look", observation="You see a door.", reward=0.0, sample=sample),),
        ending=ending,
    )


def test_what_the_world_answered_last_is_read_as_an_engine_would_have_and_not_learnt():
    episodes = [episode("cut", Truncated(limit="max_turns")), episode("over", Terminated())]
    sequences = grouped(episodes, objective("ppo"))
    cut, over = with_closing(sequences, episodes, MODEL)
    chat = [Message("user", "You are in a room."), Message("assistant", "look")]
    assert cut.token_ids.tolist() == RENDERER.prompt([*chat, Message("user", "You see a door.")])
    assert int(cut.mask.sum()) == len(SAID)
    assert cut.mask[len(PROMPT) : len(PROMPT) + len(SAID)].all()
    assert np.isnan(cut.rollout_logp[~cut.mask]).all()
    assert over is sequences[1]  # an episode that ended has no state after it
