"""Initial weights of a small transformer that can copy before any training.

An agent in a shop mostly repeats what it has read: words of a wish, an item's id, an option. A transformer
copies with two successive attention heads (induction heads, arXiv:2209.11895), and a small one trained from
scratch spends most of its tokens on finding them. So they are constructed in its initial weights, as
structure found in trained models is in arXiv:2305.09828; training starts from there and may change it.

    layer 0, first head      attends one token back and stores the identity of that token
    layer 1, all but one     attend to the token after the one that is read now, and output it
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from agentevol.models.word_tokenizer import SPACE

EMBEDDING_STD = 0.08
"""Standard deviation, per dimension, of a token's own part of the embedding; the shared part has the same
length.
"""
PEAK = 3.0
"""Least margin by which the previous token scores above its neighbours."""
MATCH = 14.0
"""Attention score of a stored token with itself; above the logarithm of a long context."""
SAID = 4.0
"""Length of the output of a copy, as a multiple of a token's own part."""
FAST, SLOW = 0.05, 0.02
"""Radians per position: rotary frequencies that distinguish neighbours, and those so slow that a token is
found hundreds of positions away.
"""


TWIN = 0.6
"""Length of what distinguishes a word at the beginning of a text, as a share of a token's own part."""


def twins(vocabulary: Mapping[str, int]) -> list[tuple[int, int]]:
    """Pairs of tokens that are one word, with and without the space before it."""
    return [
        (vocabulary[f"{SPACE}{word}"], number)
        for word, number in sorted(vocabulary.items())
        if f"{SPACE}{word}" in vocabulary
    ]


@torch.no_grad()
def lay_out(model: LlamaForCausalLM, pairs: Sequence[tuple[int, int]] = ()) -> None:
    """Set embeddings, output head, and the copying heads of the first two layers.

    `pairs` are tokens that begin with similar embeddings, so that one is found and said where the other was
    read: a name in a sentence follows a space, and the same name in a JSON string a quotation mark.
    Draws from torch's generator. The model has two layers and two heads at least, as many for keys as for
    queries, and untied embeddings.
    """
    parts: Any = model.model  # its modules are attributes of no declared type
    hidden, heads = model.config.hidden_size, model.config.num_attention_heads
    width = hidden // heads
    first, second = parts.layers[0].self_attn, parts.layers[1].self_attn
    shared = torch.nn.functional.normalize(torch.randn(hidden), dim=0)
    token = EMBEDDING_STD * math.sqrt(hidden)  # length of the token's own part
    _embed(model, shared, token, pairs)

    angles = _angles(width, model.config)
    noted, written = _directions(width, shared), _directions(width, shared)
    head = slice(0, width)
    length = math.sqrt(hidden / 2)  # of the own and of the shared part, after the first norm
    asked, offered = _one_back(angles)
    first.q_proj.weight[head] = torch.outer(asked, shared) / length
    first.k_proj.weight[head] = torch.outer(offered, shared) / length
    first.v_proj.weight[head] = noted / 2
    first.o_proj.weight[:, head] = 2 * written.T * token / (length * math.sqrt(width / hidden))

    slow = (angles < SLOW).float().repeat(2)
    length = math.sqrt(hidden / 3)  # of each of the three parts after the second norm: own, shared, stored
    score = length**2 * float(slow.sum()) / math.sqrt(hidden * width)
    scale = math.sqrt(MATCH * math.sqrt(width) / score)
    for number in range(heads - 1):
        head = slice(number * width, (number + 1) * width)
        turned = torch.linalg.qr(torch.randn(width, width)).Q
        said = _directions(width, shared)
        second.q_proj.weight[head] = scale * slow[:, None] * (turned @ noted)
        second.k_proj.weight[head] = scale * slow[:, None] * (turned @ written)
        second.v_proj.weight[head] = said / 2
        second.o_proj.weight[:, head] = 2 * said.T * SAID * token / length


def _embed(model: LlamaForCausalLM, shared: Tensor, token: float, pairs: Sequence[tuple[int, int]]) -> None:
    """Set embeddings and output head: each token's own part, of the length `token`, and the shared one."""
    parts: Any = model.model
    own = parts.embed_tokens.weight.normal_(0, EMBEDDING_STD)
    if pairs:
        spaced, bare = torch.tensor(pairs).T
        mark = torch.nn.functional.normalize(torch.randn(len(shared)), dim=0)
        own[bare] = math.sqrt(1 - TWIN**2) * own[spaced] + TWIN * token * mark
    model.lm_head.weight.copy_(own)
    own.add_(token * shared)


def _angles(width: int, config: Any) -> Tensor:
    """(width / 2,) radians per position by which the rotary embedding rotates each pair of dimensions."""
    return config.rope_parameters["rope_theta"] ** -(torch.arange(0, width, 2) / width)


def _one_back(angles: Tensor) -> tuple[Tensor, Tensor]:
    """Query and key, (width,) each, whose score is highest where the key is one position before."""
    fast = (angles > FAST).float()
    fall = float((fast * (1 - angles.cos())).sum())
    key = fast * math.sqrt(PEAK * math.sqrt(2 * len(angles)) / fall)
    query = torch.cat([key * angles.cos(), -key * angles.sin()])
    return query, torch.cat([key, torch.zeros_like(key)])


def _directions(count: int, shared: Tensor) -> Tensor:
    """(count, hidden) random directions, orthogonal to each other and to the shared part of all tokens."""
    drawn = torch.randn(len(shared), count)
    return torch.linalg.qr(drawn - torch.outer(shared, shared @ drawn)).Q.T
