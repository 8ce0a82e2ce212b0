"""Reward models beyond their loss: how members begin, what scores make together, what a run does with it."""

import json
from dataclasses import replace
from math import isnan, sqrt
from pathlib import Path

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2, write_model
from support.trajectories import trajectory
from transformers import Qwen2ForCausalLM

from agentevol.config.rewards.reward import CautionConfig, ModelReward
from agentevol.config.run import TrainConfig, load
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, EpisodeFacts, LearnerJob, TrainingSequence
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.data.preference_pairs import Pair
from agentevol.data.rewards.objectives import achieved, for_reward_model
from agentevol.data.rewards.reward_model import (
    Judgement,
    figures,
    judge,
    sequences_to_judge,
    write_judgements,
)
from agentevol.data.rewards.run_reward_model import (
    check_process_model,
    check_reward_model,
    is_exploited,
    judged_figures,
    rewarded,
    take_in,
)
from agentevol.data.training_sequences import paired
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.heads.linear import FILE, new_heads
from agentevol.learn.heads.names import FILE as NAMES
from agentevol.learn.heads.names import to_bytes as names_to_bytes
from agentevol.learn.heads.reward_scale import FILE as SCALE
from agentevol.learn.heads.reward_scale import RewardScale, load_scale
from agentevol.learn.learner import GradientLearner
from agentevol.learn.rewards.ensemble import Standard
from agentgym_store.records import Failed, Sample, Trajectory, Turn

LEARN = LearnConfig(
    algorithm="bradley_terry",
    options={"heads": 2},
    learning_rate=1e-2,
    batch_tokens=16,
    micro_batch_tokens=16,
    device="cpu",
    threads=1,
)


@pytest.fixture(scope="module")
def model() -> Qwen2ForCausalLM:
    return qwen2(10, window=32)


@pytest.fixture(scope="module")
def start(model: Qwen2ForCausalLM, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_model(tmp_path_factory.mktemp("reward"), model)


def episode(name: str, rewards: list[float], task: str = "t", **info: object) -> Trajectory:
    """Every turn reads one token and says two."""
    turns, prompt = [], [1]
    for number, reward in enumerate(rewards):
        sample = Sample(
            text="",
            prompt_ids=tuple(prompt),
            token_ids=(3 + number, 2),
            logprobs=(-1.0, -1.0),
            policy_version=7,
        )
        turns.append(Turn(action=name, observation="o", reward=reward, sample=sample, info=info))
        prompt += [3 + number, 2, 3]
    return trajectory(id=name, task_id=task, initial_observation="start", turns=tuple(turns))


WON, LOST = episode("won", [0.0, 1.0], scores={"polite": 0.5}), episode("lost", [0.0])


def pair_sequences() -> list[TrainingSequence]:
    return paired([Pair(WON, LOST, 1.0)])


# --- how members begin


def test_members_begin_apart_each_by_the_seed_and_its_number_alone(model: Qwen2ForCausalLM):
    two, three = (new_heads(model, n, members=n, seed=5).weight.detach() for n in (2, 3))
    assert torch.equal(two, three[:2])
    assert not torch.equal(two[0], two[1])
    assert not torch.equal(two, new_heads(model, 2, members=2, seed=6).weight)
    torch.manual_seed(99)  # whatever else is drawn
    assert torch.equal(two, new_heads(model, 2, members=2, seed=5).weight)
    many = new_heads(model, 2000, members=2000, seed=0)
    assert many.weight.std().item() == pytest.approx(1 / sqrt(17), rel=0.02)  # width 16
    assert not many.bias.any()


def test_a_single_head_says_0(model: Qwen2ForCausalLM):
    assert not new_heads(model, 3).weight.any()  # three objectives, no ensemble


def test_members_disagree_before_they_have_learnt_anything(start: Checkpoint, tmp_path: Path):
    # before, all heads began at 0 and members differed by their bootstrap alone
    still = LEARN.model_copy(update={"learning_rate": 0.0})
    GradientLearner(still).learn(LearnerJob(start, pair_sequences(), tmp_path / "rm", seed=0))
    (scores,) = (
        GradientLearner(still).scores(Checkpoint(tmp_path / "rm", 1), sequences_to_judge([WON])).values()
    )
    assert abs(scores[0] - scores[1]) > 0.01


def test_an_ensemble_that_was_killed_goes_on_bit_for_bit(start: Checkpoint, tmp_path: Path):
    sequences = paired([Pair(replace_id(WON, str(n)), replace_id(LOST, f"-{n}"), 1.0) for n in range(4)])
    config = LEARN.model_copy(update={"save_every": 1})

    def killed(step: int, *_: object) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GradientLearner(config, killed).learn(LearnerJob(start, sequences, tmp_path / "killed", seed=0))
    seen: list[int] = []
    GradientLearner(config, lambda step, *_: seen.append(step)).learn(
        LearnerJob(start, sequences, tmp_path / "killed", seed=0)
    )
    GradientLearner(config).learn(LearnerJob(start, sequences, tmp_path / "whole", seed=0))
    assert seen[0] > 1  # it did not begin again
    for file in (FILE, SCALE, "model.safetensors"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def replace_id(trajectory: Trajectory, name: str) -> Trajectory:
    return trajectory.model_copy(update={"id": name})


def test_a_reward_model_keeps_the_scale_of_its_own_episodes(start: Checkpoint, tmp_path: Path):
    learner = GradientLearner(LEARN)
    learner.learn(LearnerJob(start, pair_sequences(), tmp_path / "rm", seed=0, objectives=["outcome"]))
    scale, said = (
        load_scale(tmp_path / "rm"),
        learner.scores(Checkpoint(tmp_path / "rm", 1), sequences_to_judge([WON, LOST])),
    )
    assert (scale.objectives, scale.members, scale.standard.count) == (("outcome",), 2, 2)
    # two episodes, mean 0 and deviation 1: +1 and -1 in every member
    for member in range(2):
        found = sorted(scale.standardised(said[name])[0, member] for name in ("won", "lost"))
        assert found == pytest.approx([-1.0, 1.0], abs=1e-4)
    # how much they disagree about these, in deviations of each
    apart = [np.std(scale.standardised(said[name])[0], ddof=1) for name in ("won", "lost")]
    assert scale.spread == pytest.approx(np.mean(apart), abs=1e-6)
    with pytest.raises(ConfigError, match="is no reward model, it has no reward"):
        load_scale(start.path)
    with pytest.raises(ConfigError, match="it has no heads"):
        learner.scores(start, sequences_to_judge([WON]))


def test_what_is_too_long_has_no_score(start: Checkpoint, tmp_path: Path):
    GradientLearner(LEARN).learn(LearnerJob(start, pair_sequences(), tmp_path / "rm", seed=0))
    short = GradientLearner(LEARN.model_copy(update={"micro_batch_tokens": 3}))
    assert list(short.scores(Checkpoint(tmp_path / "rm", 1), sequences_to_judge([WON, LOST]))) == [
        "lost"
    ]  # 6 and 3


# --- what scores make together

SCALE_2X2 = RewardScale(
    ("outcome", "turns"), 2, Standard(1, np.array([0.0, 1, 0, 0]), np.array([1.0, 4, 1, 1]))
)
"""Head 1 has mean 1 and deviation 2."""


def test_a_judgement_by_hand():
    # standardised: outcome (1, (5 - 1) / 2 = 2), turns (0, 4)
    # equal weights: members 1/2 and 3, mean 1.75, deviation 2.5 / sqrt(2), so lcb 1.75 - 1.7678
    found = judge(SCALE_2X2, {"a": np.array([1.0, 5.0, 0.0, 4.0])}, CautionConfig())["a"]
    assert found.score == pytest.approx(1.75 - 2.5 / sqrt(2))
    assert (found.mean, found.spread) == (pytest.approx(1.75), pytest.approx(2.5 / sqrt(2)))
    assert found.objectives == {"outcome": 1.5, "turns": 2.0}
    # as if both objectives erred on their own: variances 1/2 and 8, each weighed by 1/4
    apart = judge(SCALE_2X2, {"a": np.array([1.0, 5.0, 0.0, 4.0])}, CautionConfig(combination="independent"))
    assert apart["a"].score == pytest.approx(1.75 - sqrt(8.5 / 4))
    # turns as a cost: weights 3/4 and -1/4, members 3/4 and 1/2
    weighed = CautionConfig(combination="min", weights={"outcome": 3, "turns": -1})
    assert judge(SCALE_2X2, {"a": np.array([1.0, 5.0, 0.0, 4.0])}, weighed)["a"].score == pytest.approx(0.5)
    # a named objective leaves the others without weight
    alone = CautionConfig(combination="mean", weights={"outcome": 2})
    assert judge(SCALE_2X2, {"a": np.array([1.0, 5.0, 0.0, 4.0])}, alone)["a"].score == pytest.approx(1.5)
    with pytest.raises(ConfigError, match="no objective 'goal'; it has: outcome, turns"):
        judge(SCALE_2X2, {}, CautionConfig(weights={"goal": 1.0}))


def test_a_scale_is_read_as_it_was_written_and_a_torn_one_is_named(tmp_path: Path):
    (tmp_path / SCALE).write_bytes(SCALE_2X2.to_bytes())
    again = load_scale(tmp_path)
    assert again.to_bytes() == SCALE_2X2.to_bytes()
    for broken in (b"{", b'{"objectives": ["a"], "members": 2, "count": 1, "mean": [0], "squares": [1]}'):
        (tmp_path / SCALE).write_bytes(broken)
        with pytest.raises(ConfigError, match="is corrupt"):
            load_scale(tmp_path)


def judgement(score: float, *, mean: float | None = None, said: float | None = None) -> Judgement:
    plain = score if mean is None else mean
    return Judgement(
        score, plain, spread=0.5, objectives={"preference": plain}, said=plain if said is None else said
    )


def test_figures_of_scores_by_hand():
    # two pairs in task t (won over lost and over long), none across tasks
    episodes = [WON, LOST, replace_id(episode("long", [0.0, 0.0, 0.0]), "long"), episode("other", [0.0], "u")]
    said = {
        "won": judgement(1.0), "lost": judgement(0.0), "long": judgement(2.0, mean=0.5, said=1.0),
        "other": judgement(9.0),
    }  # fmt: skip
    found = figures(episodes, said)
    assert (found["episodes"], found["pairs"], found["score"]) == (4.0, 2.0, 3.0)
    assert (found["pair_accuracy"], found["caution_changes_order"]) == (0.5, 0.5)
    # won has 4 tokens, lost 2, long 6: the longer side was right, the shorter one not
    assert (found["pair_accuracy_longer"], found["pair_accuracy_shorter"]) == (1.0, 0.0)
    assert isnan(found["pair_accuracy_equal"])
    assert found["score_gap"] == pytest.approx(((1 - 0) + (1 - 2)) / 2)
    # by ids, long and lost come before won, which is better: sigmoid(0) and sigmoid(-1) for labels of 0
    assert found["calibration_error"] == pytest.approx((0.5 + 1 / (1 + np.e)) / 2)
    assert "pair_accuracy_by_preference" not in found
    assert isnan(figures([], {})["pair_accuracy"])


def test_scores_are_written_by_id(tmp_path: Path):
    write_judgements([WON, LOST], {"won": judgement(1.0), "lost": judgement(0.0)}, tmp_path / "scores.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [(line["id"], line["return"], line["score"]) for line in lines] == [
        ("lost", 0.0, 0.0),
        ("won", 1.0, 1.0),
    ]


def test_only_sampled_episodes_with_a_return_are_judged():
    scripted = WON.model_copy(
        update={"turns": tuple(t.model_copy(update={"sample": None}) for t in WON.turns)}
    )
    failed = WON.model_copy(update={"ending": Failed(failure="policy")})
    assert sequences_to_judge([scripted, failed]) == []
    assert [sequence.trajectory_id for sequence in sequences_to_judge([WON])] == ["won"]


# --- what heads learn


def test_what_episodes_achieved():
    costly = episode("costly", [0.0, 1.0], costs={"heat": 2})
    found = achieved([WON, LOST, costly], ["outcome", "success", "efficiency", "turns", "heat", "polite"])
    assert found["won"].tolist() == [1.0, 1.0, 0.5, -2.0, 0.0, 0.5]  # others tell of heat: it had none
    assert found["costly"][:5].tolist() == [1.0, 1.0, 0.5, -2.0, -4.0]
    assert isnan(found["lost"][5])
    assert np.isnan(
        achieved([LOST.model_copy(update={"ending": Failed(failure="x")})], ["turns"])["lost"]
    ).all()
    with pytest.raises(
        ConfigError, match=r"no episode says anything of 'grace'; there are: efficiency, invalid"
    ):
        achieved([WON], ["grace"])


def test_labels_of_each_objective_sit_on_the_last_token_of_a_side():
    sequences = for_reward_model(pair_sequences(), [WON, LOST], ["outcome", "turns"], members=2)
    won, lost = sequences
    assert won.labels is not None
    assert lost.labels is not None
    assert won.labels[-1].tolist() == [1.0, 1.0, -2.0, -2.0]
    assert lost.labels[-1].tolist() == [0.0, 0.0, -1.0, -1.0]
    assert np.isnan(won.labels[:-1]).all()
    # tasks are what members draw, in whatever iteration
    assert {sequence.episode.group for sequence in sequences if sequence.episode} == {"guess/t"}
    assert all(
        sequence.labels is None for sequence in for_reward_model(pair_sequences(), [WON, LOST], [], members=2)
    )
    # what an engine said of the tokens is nothing to a model that is no policy
    assert all(sequence.policy_version is not None for sequence in pair_sequences())
    assert all(
        sequence.policy_version is None and np.isnan(sequence.rollout_logp).all() for sequence in sequences
    )


def test_an_objective_in_which_no_pair_differs_is_named():
    with pytest.raises(NothingToLearn, match="no pair differs in 'invalid_actions': pairs"):
        for_reward_model(pair_sequences(), [WON, LOST], ["outcome", "invalid_actions"], members=1)


def test_objectives_and_caution_without_effect_are_refused():
    fine = ["algorithm=bradley_terry", 'objectives=["outcome","turns"]']
    assert load(None, fine, TrainConfig).objectives == ("outcome", "turns")
    for settings, said in (
        (['objectives=["outcome"]'], "objectives have no effect: 'sft'"),
        ([*fine, 'objectives=["turns","turns"]'], "named once each"),
    ):
        with pytest.raises(ConfigError, match=said):
            load(None, settings, TrainConfig)
    for settings, said in (
        (["combination=min", "kappa=2"], "kappa has no effect without combination 'lcb'"),
        (["penalty=0.5"], "penalty has no effect without combination 'uwo'"),
        (["weights.outcome=0"], "weigh nothing"),
    ):
        with pytest.raises(ConfigError, match=said):
            load(None, settings, CautionConfig)


# --- in a run


def test_an_episode_earns_what_the_model_says_at_its_last_turn():
    facts = EpisodeFacts("g", (0.25, 0.75), ("", ""), (0, 0), (False, False), truncated=False)
    sequence = replace(sequences_to_judge([WON])[0], episode=facts)
    unjudged = replace(sequence, trajectory_id="too long")
    # 0.5 * 1 + 2 * 0.6
    (found,) = rewarded([sequence, unjudged], {"won": judgement(0.6)}, alpha=0.5, beta=2.0)
    assert found.episode is not None
    assert found.episode.rewards == pytest.approx((0.0, 1.7))
    assert judged_figures([sequence, unjudged], {"won": judgement(0.6)}) == {
        "reward_score": 0.6, "reward_spread": 0.5, "reward_unjudged": 1.0,
    }  # fmt: skip
    assert judged_figures([unjudged], {}) == {"reward_unjudged": 1.0}


def evaluated(number: int, proxy: float | None, gold: float) -> IterationSummary:
    validation = EvaluationSummary(split="valid", n=4, successes=0, mean_reward=gold, mean_turns=1.0)
    return IterationSummary(
        iteration=number, checkpoint="", table_version=0, validation=validation, proxy=proxy
    )


def test_a_model_whose_score_rises_while_returns_fall_twice_is_exploited():
    golds, proxies = [0.3, 0.4, 0.3, 0.2], [0.1, 0.2, 0.3, 0.4]
    summaries = [evaluated(n, p, g) for n, (p, g) in enumerate(zip(proxies, golds, strict=True))]
    assert not is_exploited(summaries[:3], 2)
    assert is_exploited(summaries, 2)
    assert is_exploited(summaries[:3], 1)
    assert not is_exploited(
        [evaluated(n, -p, g) for n, (p, g) in enumerate(zip(proxies, golds, strict=True))], 2
    )
    assert not is_exploited([evaluated(n, None, g) for n, g in enumerate(golds)], 1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["reward.beta=2"], "it belongs to: function, model, model with reward.refresh"),
        (["reward.model=rm", "algorithm=dpo"], "learns from pairs, not rewards"),
        (["reward.model=rm", "process.continuations=2"], "leave out one of them"),
        (["reward.model=rm", "explore.resample=1"], "leave it at 0"),
    ],
)
def test_a_reward_model_that_cannot_act_is_refused(settings: list[str], said: str):
    fine = load(None, ["algorithm=grpo", "reward.model=rm"])
    assert fine.reward == ModelReward(model="rm", caution=CautionConfig(combination="lcb"), patience=2)
    with pytest.raises(ConfigError, match=said):
        load(None, ["algorithm=grpo", *settings])


def test_a_reward_model_of_other_tokens_is_refused_before_anything_runs(start: Checkpoint, tmp_path: Path):
    model = tmp_path / "rm"
    model.mkdir()
    given = ["algorithm=grpo", f"reward.model={model}", f"base={start.path}"]
    config = load(None, given)
    with pytest.raises(ConfigError, match="is no reward model"):
        check_reward_model(config)
    (model / SCALE).write_bytes(SCALE_2X2.to_bytes())
    (model / "tokenizer.json").write_text("{}")
    check_reward_model(config)
    take_in(model, tmp_path / "copy")
    take_in(tmp_path / "gone", tmp_path / "copy")  # a run that goes on has its copy
    assert (tmp_path / "copy" / SCALE).is_file()
    refreshed = [*given, "reward.refresh=true"]
    with pytest.raises(ConfigError, match=r"which side of a pair is better, .* judges outcome, turns"):
        check_reward_model(load(None, refreshed))
    (model / "tokenizer.json").write_text('{"other": 1}')
    with pytest.raises(ConfigError, match="another tokenizer"):
        check_reward_model(config)


def test_a_process_model_of_other_heads_or_tokens_is_refused_before_anything_runs(
    start: Checkpoint, tmp_path: Path
):
    model = tmp_path / "prm"
    model.mkdir()
    given = ["algorithm=ppo", f"process.model={model}", f"base={start.path}"]
    with pytest.raises(ConfigError, match=r"is not a process reward model, it has no process.json"):
        check_process_model(load(None, given))
    (model / NAMES).write_bytes(names_to_bytes(["efficiency", "outcome"]))
    with pytest.raises(ConfigError, match="has the heads efficiency, outcome, not outcome"):
        check_process_model(load(None, given))
    both = load(None, [*given, "process.heads.efficiency=0.5"])
    check_process_model(both)
    (model / "tokenizer.json").write_text('{"other": 1}')
    with pytest.raises(ConfigError, match=r"process.model .* has another tokenizer"):
        check_process_model(both)


def test_a_reward_model_is_not_taught_other_objectives_in_the_same_heads(start: Checkpoint, tmp_path: Path):
    learner = GradientLearner(LEARN)
    first = learner.learn(
        LearnerJob(start, pair_sequences(), tmp_path / "first", 0, objectives=["outcome"])
    ).checkpoint
    with pytest.raises(ConfigError, match="has the objectives outcome, not success"):
        learner.learn(LearnerJob(first, pair_sequences(), tmp_path / "second", 0, objectives=["success"]))
    learner.learn(LearnerJob(first, pair_sequences(), tmp_path / "third", 0, objectives=["outcome"]))
    assert load_scale(tmp_path / "third").objectives == ("outcome",)
