"""The critic: what it says of the state in which an episode was cut off, and how it learns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2
from transformers import Qwen2ForCausalLM

from agentevol.config.run import load
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, EpisodeFacts, LearnerJob, LearnReport, TrainingSequence
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.packing import packed
from agentevol.learn.batches.trainable_sequences import fit
from agentevol.learn.heads.critic import batches_learnt, clip, own_optimisers, parameters
from agentevol.learn.heads.linear import load_heads, new_heads
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.network import Network, Reader
from agentevol.learn.optimisers import optimisers
from agentevol.learn.precomputed_columns import add_old
from agentevol.models.causal_lm import load_model

VOCABULARY = 12


def model(seed: int = 0) -> Qwen2ForCausalLM:
    return qwen2(VOCABULARY, seed=seed, layers=2, intermediate=24)


def critic() -> Network:
    made = model()
    made.set_attn_implementation(PACKED_ATTENTION)
    head = new_heads(made, 1)
    torch.nn.init.normal_(head.weight)
    return Network(Reader(made.train(), head), "critic", torch.device("cpu"))


def sequence(
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
    """The critic's value of the state in which a token after the whole sequence would be said."""
    longer = replace(
        given,
        token_ids=np.append(given.token_ids, np.int32(0)),
        mask=np.append(np.zeros_like(given.mask), True),
    )
    net.model.eval()
    with torch.no_grad():
        return net.read(packed([longer], [0])).columns["value"].item()


SEQUENCES = [
    sequence("ended", [2, 3], truncated=False),
    sequence("cut", [4, 5, 6]),
    sequence("answered", [4, 5, 6], after=[7, 8]),
    sequence("forked", [9], turns=2),
    sequence(
        "forked", [9, 10, 3], turn=1, turns=2
    ),  # its template rewrote history: the episode's last sequence
]


@pytest.mark.parametrize("max_tokens", [8, 40])
def test_an_episode_that_was_cut_off_is_worth_what_the_critic_says_after_its_last_token(max_tokens: int):
    net = critic()
    assembly = Assembly(fit(SEQUENCES, max_tokens, closing=True).sequences)
    add_old(net, assembly, max_tokens)
    found = assembly.rollouts().final_value
    wanted = [0.0, *(value_before_a_next_token(net, SEQUENCES[number]) for number in (1, 2, 4))]
    assert found.tolist() == pytest.approx(wanted, abs=1e-6)
    assert len({round(value, 4) for value in wanted}) == 4
    # it is not the value of the state before the last token
    assert assembly.columns["old_value"][1][-1] != pytest.approx(wanted[1], abs=1e-3)


def test_where_no_limit_cut_anything_off_no_state_is_read_again():
    net, assembly = critic(), Assembly([SEQUENCES[0]])
    add_old(net, assembly, 40)
    assert assembly.rollouts().final_value.tolist() == [0.0]
    policy = replace(net, kind="policy")
    other = Assembly([SEQUENCES[1]])
    add_old(policy, other, 40)
    assert other.rollouts().final_value is None


def test_what_follows_the_last_action_is_kept_where_a_critic_reads_it_and_it_fits():
    sequences = [sequence("cut", [2], after=[3, 4]), sequence("ended", [2], after=[3, 4], truncated=False)]
    assert [len(kept.token_ids) for kept in fit(sequences, 4, closing=True).sequences] == [4, 2]
    assert [len(kept.token_ids) for kept in fit(sequences, 3, closing=True).sequences] == [2, 2]
    assert [len(kept.token_ids) for kept in fit(sequences, 4).sequences] == [2, 2]


FAST: dict[str, Any] = {
    "algorithm": "ppo",
    "options": {"kl_coef": 0.0, "value_coef": 0.5},
    "learning_rate": 1e-3,
    "batch_tokens": 16,
    "micro_batch_tokens": 16,
    "warmup_fraction": 0.0,
    "schedule": "constant",
    "epochs": 2,
    "device": "cpu",
    "threads": 1,
    "max_logp_gap": 99.0,
}
"""Six steps for twelve sequences of four tokens."""


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    folder = tmp_path_factory.mktemp("critic") / "start"
    model().save_pretrained(folder)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return Checkpoint(folder, version=4)


def episodes(count: int = 12) -> list[TrainingSequence]:
    random = np.random.default_rng(0)
    given = [sequence(f"episode {n}", random.integers(0, VOCABULARY, 3).tolist()) for n in range(count)]
    paid = [replace(one.episode, rewards=(float(n % 2),)) for n, one in enumerate(given) if one.episode]
    return [replace(one, episode=facts) for one, facts in zip(given, paid, strict=True)]


def learn(start: Checkpoint, out: Path, progress: Any = None, **settings: Any) -> LearnReport:
    learner = GradientLearner(LearnConfig.model_validate({**FAST, **settings}), progress)
    return learner.learn(LearnerJob(start, episodes(), out, seed=0))


def policy_moved(start: Checkpoint, out: Path) -> float:
    ours, theirs = (load_model(path, PACKED_ATTENTION).state_dict() for path in (start.path, out))
    return max((ours[name] - theirs[name]).abs().max().item() for name in ours)


def head(path: Path) -> torch.Tensor:
    found = load_heads(path)
    assert found is not None
    return found.weight.detach()


def test_a_critic_learns_at_a_rate_of_its_own(start: Checkpoint, tmp_path: Path):
    # AdamW's first step is as large as the learning rate in every weight that has a gradient
    learn(start, tmp_path / "together", max_steps=1)
    learn(start, tmp_path / "apart", max_steps=1, critic_learning_rate=1e-2)
    assert head(tmp_path / "together").abs().max().item() == pytest.approx(1e-3, rel=1e-2)
    assert head(tmp_path / "apart").abs().max().item() == pytest.approx(1e-2, rel=1e-2)
    for name in ("together", "apart"):
        assert policy_moved(start, tmp_path / name) == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_the_last_optimiser_is_the_critics_and_every_weight_has_one(optimiser: str):
    net = critic()
    config = LearnConfig.model_validate({**FAST, "optimiser": optimiser, "critic_learning_rate": 1e-2})
    used = optimisers(net, config)
    assert own_optimisers(used, net) == [used[-1]]
    learnt = [id(p) for each in used for group in each.param_groups for p in group["params"]]
    assert sorted(learnt) == sorted(id(p) for p in net.parameters())
    assert {group["initial_lr"] for group in used[-1].param_groups} == {1e-2}
    assert {group["initial_lr"] for group in used[0].param_groups} == {1e-3}
    # no rate of its own: one optimiser for everything, none of which is the critic's
    together = optimisers(net, config.model_copy(update={"critic_learning_rate": None}))
    assert own_optimisers(together, net) == []
    assert len(together) == len(used) - 1


def test_while_a_new_critic_learns_alone_the_policy_stands_still(start: Checkpoint, tmp_path: Path):
    report = learn(start, tmp_path / "alone", critic_warmup=10)
    assert policy_moved(start, tmp_path / "alone") == 0.0
    assert head(tmp_path / "alone").abs().max().item() > 1e-3
    assert report.metrics["critic_alone"] == report.metrics["critic_batches"] == 6
    assert report.metrics["critic_grad_norm"] > 0
    # it has four batches left, then the policy moves as well; a checkpoint without a critic begins again
    learnt = learn(report.checkpoint, tmp_path / "on", critic_warmup=10).metrics
    assert (learnt["critic_alone"], learnt["critic_batches"]) == (4, 12)
    assert policy_moved(start, tmp_path / "on") > 1e-3
    third = learn(Checkpoint(tmp_path / "on", 6), tmp_path / "third", critic_warmup=10).metrics
    assert (third["critic_alone"], third["critic_batches"]) == (0, 18)
    (tmp_path / "on" / "heads.st").unlink()
    assert batches_learnt(tmp_path / "on") == 0
    assert batches_learnt(start.path) == 0


def test_adapters_stand_still_too(start: Checkpoint, tmp_path: Path):
    lora = {"rank": 2, "alpha": 4}
    learn(start, tmp_path / "alone", critic_warmup=10, lora=lora)
    learn(start, tmp_path / "both", critic_warmup=1, lora=lora)
    assert policy_moved(start, tmp_path / "alone") == 0.0
    assert policy_moved(start, tmp_path / "both") > 1e-5


def test_a_critic_that_learnt_alone_explains_more(start: Checkpoint, tmp_path: Path):
    fresh = learn(start, tmp_path / "fresh", epochs=40, critic_warmup=120, critic_learning_rate=3e-2)
    trained = learn(fresh.checkpoint, tmp_path / "trained", max_steps=1)
    assert trained.metrics["explained_variance"] > fresh.metrics["explained_variance"] + 0.1


@pytest.mark.parametrize("die_at", [3, 5])
def test_a_learner_killed_while_its_critic_learns_alone_or_later_goes_on_bit_for_bit(
    start: Checkpoint, tmp_path: Path, die_at: int
):
    settings = {"critic_warmup": 3, "critic_learning_rate": 1e-2, "keep_moments": True}
    calm = learn(start, tmp_path / "calm", **settings)
    steps: list[int] = []

    def die(step: int, _steps: int, _loss: float) -> None:
        if step == die_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(start, tmp_path / "killed", die, save_every=2, **settings)
    killed = learn(start, tmp_path / "killed", lambda step, *_: steps.append(step), save_every=2, **settings)
    assert steps[0] == die_at
    assert policy_moved(Checkpoint(tmp_path / "calm", 5), tmp_path / "killed") == 0.0
    assert torch.equal(head(tmp_path / "calm"), head(tmp_path / "killed"))
    assert (tmp_path / "calm" / "moments.st").read_bytes() == (
        tmp_path / "killed" / "moments.st"
    ).read_bytes()
    assert killed.metrics["critic_alone"] == calm.metrics["critic_alone"] == 3


def test_what_both_optimisers_remember_is_taken_up(start: Checkpoint, tmp_path: Path):
    settings = {"critic_learning_rate": 1e-2, "keep_moments": True}
    first = learn(start, tmp_path / "first", **settings).checkpoint
    learn(first, tmp_path / "second", **settings)
    learn(first, tmp_path / "forgotten", critic_learning_rate=1e-2)
    assert not torch.equal(head(tmp_path / "second"), head(tmp_path / "forgotten"))
    with pytest.raises(ConfigError, match=r"moments\.st"):  # one optimiser cannot go on for two
        learn(first, tmp_path / "together", keep_moments=True)


def clipped(apart: bool) -> tuple[float, dict[str, float], list[float]]:
    """What becomes of gradients 3 of a weight of the policy and 4 of the critic's bias, at a limit of 1."""
    net = critic()
    weight, bias = next(iter(net.model.parameters())), list(parameters(net))[1]
    weight.grad, bias.grad = torch.zeros_like(weight), torch.full_like(bias, 4.0)
    weight.grad[0, 0] = 3.0
    norm, noted = clip(net, 1.0, apart=apart)
    return norm, noted, [weight.grad[0, 0].item(), bias.grad.item()]


def test_a_gradient_of_the_critic_does_not_shrink_the_policys_where_they_are_apart():
    assert clipped(apart=True) == (5.0, {"critic_grad_norm": 4.0}, pytest.approx([1.0, 1.0], abs=1e-5))
    assert clipped(apart=False) == (5.0, {"critic_grad_norm": 4.0}, pytest.approx([0.6, 0.8], abs=1e-5))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"algorithm": "grpo", "critic_warmup": 3}, "need a critic: grpo has none"),
        ({"algorithm": "sft", "critic_learning_rate": 1e-5}, "need a critic: sft has none"),
        ({"algorithm": "ppo", "critic_warmup": 3, "options": {"value_coef": 0.0}}, "options.value_coef is 0"),
        ({"algorithm": "ppo", "critic_learning_rate": 0.0}, "critic_learning_rate"),
        ({"algorithm": "ppo", "critic_warmup": -1}, "critic_warmup"),
    ],
)
def test_settings_of_a_critic_that_is_not_there_are_refused(settings: dict[str, Any], complaint: str):
    with pytest.raises(ValueError, match=complaint):
        LearnConfig.model_validate(settings)


def test_models_beside_the_policy_have_no_critic_of_its_settings():
    overrides = ["algorithm=ppo", "learn.critic_warmup=5", "process.continuations=2"]
    config = load(None, overrides).process_learn
    assert (config.algorithm, config.critic_warmup) == ("process_reward", 0)
    assert LearnConfig.model_validate(config.model_dump()) == config
