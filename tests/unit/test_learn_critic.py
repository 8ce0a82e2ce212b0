"""The critic: what it says of the state in which an episode was cut off."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from agentevol.learn.assembly import Assembly
from agentevol.learn.attention import PACKED_ATTENTION
from agentevol.learn.batches import packed
from agentevol.learn.fitting import fit
from agentevol.learn.frozen import add_old
from agentevol.learn.heads import new_heads
from agentevol.learn.network import Network, Reader
from agentevol.protocols import EpisodeFacts, TrainingSequence

VOCABULARY = 12


def model(seed: int = 0) -> Qwen2ForCausalLM:
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=False, max_position_embeddings=64,
    )  # fmt: skip
    return Qwen2ForCausalLM(config)


def critic() -> Network:
    made = model()
    made.set_attn_implementation(PACKED_ATTENTION)
    head = new_heads(made, 1)
    torch.nn.init.normal_(head.weight)
    return Network(Reader(made.train(), head), "critic", torch.device("cpu"))


def row(
    name: str,
    said: list[int],
    *,
    after: list[int] | None = None,
    truncated: bool = True,
    turn: int = 0,
    turns: int = 1,
) -> TrainingSequence:
    """Token 1 is read, `said` is learnt, `after` is what the world answered."""
    ids = np.asarray([1, *said, *(after or [])], dtype=np.int32)
    mask = (np.arange(len(ids)) > 0) & (np.arange(len(ids)) <= len(said))
    episode = EpisodeFacts(
        group="task", rewards=(1.0,) * turns, anchors=("",) * turns, modes=(0,) * turns,
        invalid=(False,) * turns, truncated=truncated,
    )  # fmt: skip
    logp = np.where(mask, -1.0, np.nan).astype(np.float32)
    said_in = np.where(mask, turn, -1).astype(np.int32)
    return TrainingSequence(ids, mask, logp, 1.0, name, turn=said_in, episode=episode)


def value_before_a_next_token(net: Network, given: TrainingSequence) -> float:
    """The critic's value of the state in which a token after the whole row would be said."""
    longer = replace(
        given,
        token_ids=np.append(given.token_ids, np.int32(0)),
        mask=np.append(np.zeros_like(given.mask), True),
    )
    net.model.eval()
    with torch.no_grad():
        return net.read(packed([longer], [0])).columns["value"].item()


ROWS = [
    row("ended", [2, 3], truncated=False),
    row("cut", [4, 5, 6]),
    row("answered", [4, 5, 6], after=[7, 8]),
    row("forked", [9], turns=2),
    row("forked", [9, 10, 3], turn=1, turns=2),  # its template rewrote history: the episode's last row
]


@pytest.mark.parametrize("max_tokens", [8, 40])
def test_an_episode_that_was_cut_off_is_worth_what_the_critic_says_after_its_last_token(max_tokens: int):
    net = critic()
    assembly = Assembly(fit(ROWS, max_tokens, closing=True).rows)
    add_old(net, assembly, max_tokens)
    found = assembly.rollouts().final_value
    wanted = [0.0, *(value_before_a_next_token(net, ROWS[number]) for number in (1, 2, 4))]
    assert found.tolist() == pytest.approx(wanted, abs=1e-6)
    assert len({round(value, 4) for value in wanted}) == 4
    # it is not the value of the state before the last token
    assert assembly.columns["old_value"][1][-1] != pytest.approx(wanted[1], abs=1e-3)


def test_where_no_limit_cut_anything_off_no_state_is_read_again():
    net, assembly = critic(), Assembly([ROWS[0]])
    add_old(net, assembly, 40)
    assert assembly.rollouts().final_value.tolist() == [0.0]
    policy = replace(net, kind="policy")
    other = Assembly([ROWS[1]])
    add_old(policy, other, 40)
    assert other.rollouts().final_value is None


def test_what_follows_the_last_action_is_kept_where_a_critic_reads_it_and_it_fits():
    rows = [row("cut", [2], after=[3, 4]), row("ended", [2], after=[3, 4], truncated=False)]
    assert [len(kept.token_ids) for kept in fit(rows, 4, closing=True).rows] == [4, 2]
    assert [len(kept.token_ids) for kept in fit(rows, 3, closing=True).rows] == [2, 2]
    assert [len(kept.token_ids) for kept in fit(rows, 4).rows] == [2, 2]
