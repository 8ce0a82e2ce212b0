"""Training data of one update from feedback: pairs, corrected actions and labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentevol.config.run import RunConfig, TrainConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.algorithms.contract import Objective
from agentevol.core.protocols import TrainingSequence
from agentevol.data.auxiliary_sequences import with_auxiliary_sequences
from agentevol.data.feedback.aggregation.aggregate import Preferences, preferences
from agentevol.data.feedback.corrections import CorrectedTurn, corrected_turn, unsampled
from agentevol.data.feedback.scores import rated_labels
from agentevol.data.feedback.usable import Usable, usable
from agentevol.data.groups import own_part
from agentevol.data.preference_pairs import Label, Pair
from agentevol.data.rewards.objectives import for_reward_model
from agentevol.data.training_sequences import labelled, paired
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.models.rendering import ChatRenderer
from agentevol.models.tokenizer_checks import check_tokenizer
from agentgym_store.feedback.records import Feedback
from agentgym_store.records import Trajectory

BELOW_CHANCE = "below_chance_"
"""Beginning of the figure that names a source below chance."""


@dataclass(frozen=True)
class Taught:
    """Training data from opinions."""

    sequences: list[TrainingSequence]
    without: frozenset[str]
    """Episodes whose own outcome teaches nothing: flagged ones, and for labels rated ones."""
    figures: dict[str, float]
    """Counts of opinions by their use."""

    def check(self, data: Path | str) -> None:
        """Raise `NothingToLearn` where there is nothing, with the counts."""
        if not self.sequences:
            raise NothingToLearn(
                f"the feedback on {data} teaches this algorithm nothing:"
                f" {_listed(self.figures) or 'there is none'}; `agentevol feedback list` shows all of it"
            )


def spoken(figures: Mapping[str, float]) -> str:
    """One line of the counts: `opinions: correction 1, pairs of corrections 1`."""
    named = {_words(name.removeprefix("feedback_")): value for name, value in figures.items()}
    return f"opinions: {_listed(named) or 'none'}"


def _words(name: str) -> str:
    """A figure's name in words; the name of a source stays as it is."""
    source = name.removeprefix(BELOW_CHANCE)
    return name.replace("_", " ") if source == name else f"{BELOW_CHANCE.replace('_', ' ')}{source}"


def _listed(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in figures.items() if value)


def taught(
    opinions: Sequence[Feedback],
    episodes: Mapping[str, Trajectory],
    config: RunConfig | TrainConfig,
    chosen: Objective,
    renderer: ChatRenderer,
    split: str,
) -> Taught:
    """Training data from opinions on `episodes`, which are by id; other splits than `split` are held out.

    Raises `ConfigError`.
    """
    sorted_out = usable(opinions, episodes, split)
    turns, lacking = _corrected(sorted_out, episodes, config, renderer)
    kind, algorithm = config.select.sequences, chosen.algorithm.data
    preferred = preferences(sorted_out.comparisons if algorithm == "pairs" else (), config.feedback)
    soft = bool(chosen.algorithm.soft_pairs)
    pairs = _pairs(turns, preferred, episodes, soft=soft) if algorithm == "pairs" else []
    rows = turns if algorithm == "episodes" else []
    scores = sorted_out.scores if algorithm == "labels" else ()
    labels, below_chance = rated_labels(scores, episodes, config.feedback)
    sequences = with_auxiliary_sequences(unsampled([*paired(pairs, kind), *labelled(labels, kind)]), chosen)
    if chosen.name == "bradley_terry":
        sequences = for_reward_model(sequences, list(episodes.values()), (), int(chosen.options["heads"]))
    sequences = [replace(one, unit=f"feedback {one.unit}") if one.unit else one for one in sequences]
    sequences += unsampled([one for turn in rows for one in turn.row(kind)])
    rated = {label.trajectory.id for label in labels}
    made = _made(algorithm, turns, pairs, labels, preferred.undecided)
    if preferred.soft:
        made |= {"soft_pairs" if soft else "hardened_pairs": preferred.soft}
    made |= {"inexpressible_corrections": lacking}
    made |= {f"{BELOW_CHANCE}{name}": 1 for name in sorted(below_chance | preferred.below_chance)}
    return Taught(sequences, sorted_out.flagged | rated, _figures(sorted_out, made))


def _corrected(
    found: Usable,
    episodes: Mapping[str, Trajectory],
    config: RunConfig | TrainConfig,
    renderer: ChatRenderer,
) -> tuple[list[CorrectedTurn], int]:
    """Corrected turns, and the number of corrections that no message has."""
    form = action_format(config.action_format)
    check_tokenizer(
        [episodes[name] for name in dict.fromkeys(name for name, _, _ in found.corrections)], renderer
    )
    turns = [
        corrected_turn(episodes[name], turn, action, renderer, form)
        for name, turn, action in found.corrections
    ]
    kept = [turn for turn in turns if turn is not None]
    return kept, len(turns) - len(kept)


def _pairs(
    turns: Sequence[CorrectedTurn], preferred: Preferences, episodes: Mapping[str, Trajectory], *, soft: bool
) -> list[Pair]:
    """Pairs of corrections, then of comparisons; these are certain unless `soft`."""
    corrections = [pair for turn in turns if (pair := turn.pair) is not None]
    compared = [
        _preferred(episodes[one], episodes[other], probability if soft else 1.0)
        for (one, other), probability in preferred.probability.items()
    ]
    return [*corrections, *compared]


def _preferred(better: Trajectory, worse: Trajectory, probability: float) -> Pair:
    margin = max((better.total_reward or 0.0) - (worse.total_reward or 0.0), 0.0)
    return Pair(own_part(better), own_part(worse), margin, preference=probability)


def _made(
    algorithm: str,
    turns: Sequence[CorrectedTurn],
    pairs: Sequence[Pair],
    labels: Sequence[Label],
    undecided: int,
) -> dict[str, int]:
    """Numbers of what opinions became."""
    if algorithm == "episodes":
        return {"corrected_actions": len(turns)}
    if algorithm == "labels":
        desirable = sum(label.desirable for label in labels)
        return {"desirable": desirable, "undesirable": len(labels) - desirable}
    corrected = sum(turn.pair is not None for turn in turns)
    made = {"pairs_of_corrections": corrected, "pairs_of_comparisons": len(pairs) - corrected}
    return {**made, "undecided_pairs": undecided}


def _figures(found: Usable, made: dict[str, int]) -> dict[str, float]:
    given = {f"feedback_{kind}": float(count) for kind, count in sorted(found.given.items())}
    became = {f"feedback_{name}": float(count) for name, count in made.items()}
    reasons = {
        f"feedback_left_out_{reason.replace(' ', '_')}": float(count)
        for reason, count in sorted(found.left_out.items())
    }
    return {**given, **became, **reasons}
