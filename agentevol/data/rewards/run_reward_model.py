"""Reward model within a run: rewards from its scores, refresh on new pairs, and monitoring.

An episode of return 1 and score 0.6, with alpha 0.5 and beta 2: its last turn earns 0.5 * 1 + 2 * 0.6 = 1.7.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from statistics import fmean

from agentevol.config.rewards.reward import CautionConfig, LearntModelReward, ModelReward
from agentevol.config.run import RunConfig
from agentevol.core.algorithms.contract import Floats
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.core.summaries import IterationSummary
from agentevol.data.rewards.objectives import for_reward_model
from agentevol.data.rewards.reward_model import Judgement, figures, judge
from agentevol.data.training_sequences import sequences_of
from agentevol.learn.heads.names import FILE as PROCESS
from agentevol.learn.heads.names import check_heads, head_names
from agentevol.learn.heads.reward_scale import FILE, PREFERENCE, load_scale
from agentevol.learn.rewards.stopping import overoptimised
from agentevol.models.resolution import resolve
from agentgym_store.records import Trajectory

TOKENIZER = "tokenizer.json"


def check_reward_model(config: RunConfig) -> None:
    """Raise `ConfigError` where `reward.model` is no reward model, or has another tokenizer than the base."""
    reward = config.reward
    if not isinstance(reward, ModelReward | LearntModelReward) or reward.model is None:
        return
    model, base = Path(reward.model), resolve(config.base, weights=False).path
    scale = load_scale(model)
    scale.weights(reward.caution.weights)
    trains = isinstance(reward, LearntModelReward) and reward.trains(1)
    if trains and scale.objectives != (PREFERENCE,):
        raise ConfigError(
            f"the run learns which side of a pair is better, reward.model {model} judges"
            f" {', '.join(scale.objectives)}: train one without objectives, or leave it as it is"
        )
    check_tokenizer("reward.model", model, base)


def check_process_model(config: RunConfig) -> None:
    """Raise `ConfigError` where `process.model` is not a process reward model, has other heads than
    `process.heads`, or another tokenizer than the base.
    """
    if config.process.initial_model is None:
        return
    model = Path(config.process.initial_model)
    if head_names(model) is None:
        raise ConfigError(
            f"process.model {model} is not a process reward model, it has no {PROCESS}: make one with"
            " `agentevol train TABLE algorithm=process_reward`, or take one of a run's process/ folder"
        )
    check_heads(model, list(config.process.model_heads))
    check_tokenizer("process.model", model, resolve(config.base, weights=False).path)


def check_tokenizer(setting: str, model: Path, base: Path) -> None:
    """Raise `ConfigError` where the model that `setting` names has another tokenizer than the base."""
    files = [folder / TOKENIZER for folder in (model, base)]
    if all(file.is_file() for file in files) and files[0].read_bytes() != files[1].read_bytes():
        raise ConfigError(
            f"{setting} {model} has another tokenizer than the base {base}: take one that was trained on that"
            " base"
        )


def take_in(model: Path, place: Path) -> None:
    """Copy the reward model into the run, atomically, so that the run does not depend on other folders."""
    if place.is_dir():
        return
    partial = place.with_name(f".{place.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(model, partial)
    partial.rename(place)


def is_reward_model(folder: Path) -> bool:
    """True where a checkpoint has heads that compare episodes."""
    return (folder / FILE).is_file()


def compared(trajectories: Sequence[Trajectory], config: RunConfig, seed: int) -> list[TrainingSequence]:
    """Training sequences of the pairs for a run's reward model (`reward.refresh`).

    Raises `NothingToLearn` where there is no pair.
    """
    comparison = objective("bradley_terry", config.reward_learn.options)
    sequences = sequences_of(trajectories, comparison, config, seed)
    return for_reward_model(sequences, trajectories, (), int(comparison.options["heads"]))


def judged(folder: Path, scores: Mapping[str, Floats], caution: CautionConfig) -> dict[str, Judgement]:
    """Episode -> judgement from the `scores` of the reward model in `folder`."""
    return judge(load_scale(folder), scores, caution)


def rewarded(
    sequences: Sequence[TrainingSequence], judgements: Mapping[str, Judgement], *, alpha: float, beta: float
) -> list[TrainingSequence]:
    """Training sequences with alpha * return + beta * score at the last turn; episodes without a judgement
    are left out.
    """
    return with_scores(
        sequences, {name: one.score for name, one in judgements.items()}, alpha=alpha, beta=beta
    )


def with_scores(
    sequences: Sequence[TrainingSequence], scores: Mapping[str, float], *, alpha: float, beta: float
) -> list[TrainingSequence]:
    """Training sequences with alpha * return + beta * score at the last turn; episodes without a score are
    left out.
    """
    return [
        _rewarded(sequence, scores[sequence.trajectory_id], alpha, beta)
        for sequence in sequences
        if sequence.trajectory_id in scores
    ]


def judged_figures(
    sequences: Sequence[TrainingSequence], judgements: Mapping[str, Judgement]
) -> dict[str, float]:
    """Metrics: mean score, mean disagreement of the members, and number of episodes that the model could not
    read.
    """
    episodes = {sequence.trajectory_id for sequence in sequences}
    known = [judgements[name] for name in sorted(episodes & judgements.keys())]
    unjudged = {"reward_unjudged": float(len(episodes) - len(known))}
    if not known:
        return unjudged
    score, spread = fmean(one.score for one in known), fmean(one.spread for one in known)
    return {"reward_score": score, "reward_spread": spread, **unjudged}


def agreement_figures(
    trajectories: Sequence[Trajectory], judgements: Mapping[str, Judgement]
) -> dict[str, float]:
    """Agreement of these episodes' scores with their returns, and correlation with their lengths."""
    found = figures(trajectories, judgements)
    named = ("pair_accuracy", "return_correlation", "token_correlation")
    return {f"reward_{name}": found[name] for name in named if isfinite(found[name])}


def is_exploited(evaluated: Iterable[IterationSummary], patience: int) -> bool:
    """True where scores of the validation episodes rose while their returns fell, `patience` times in a
    sequence.
    """
    known = [
        (one.proxy, one.validation.mean_reward)
        for one in evaluated
        if one.proxy is not None and one.validation is not None and one.validation.mean_reward is not None
    ]
    proxy, gold = [proxy for proxy, _ in known], [gold for _, gold in known]
    return overoptimised(proxy, gold, patience=patience) is not None


def _rewarded(sequence: TrainingSequence, score: float, alpha: float, beta: float) -> TrainingSequence:
    if sequence.episode is None:
        return sequence
    earlier = (0.0,) * (len(sequence.episode.rewards) - 1)
    last = alpha * sum(sequence.episode.rewards) + beta * score
    return replace(sequence, episode=replace(sequence.episode, rewards=(*earlier, last)))
