"""Training sequences from opinions, by the kind of data that the algorithm learns from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentevol.config.run import RunConfig, TrainConfig
from agentevol.config.self_evolution.feedback import LEARNS_SCORES, OPINION, learns_opinions
from agentevol.core.action_formats.registry import action_format
from agentevol.core.algorithms.contract import Objective
from agentevol.core.protocols import TrainingSequence
from agentevol.data.auxiliary_sequences import with_auxiliary_sequences
from agentevol.data.feedback.aggregation.aggregate import Preferences, preferences
from agentevol.data.feedback.corrections import CorrectedTurn, corrected_turn, unsampled
from agentevol.data.feedback.scores import aggregated, rated_labels
from agentevol.data.feedback.turns import named, turn_labels
from agentevol.data.feedback.usable import Usable
from agentevol.data.groups import own_part
from agentevol.data.preference_pairs import Pair
from agentevol.data.replay import by_player
from agentevol.data.rewards.objectives import for_reward_model
from agentevol.data.selection.rescoring import rescored
from agentevol.data.training_sequences import imitated, labelled, paired
from agentevol.learn.rewards.monte_carlo_values import StateValues
from agentevol.models.rendering import ChatRenderer
from agentevol.models.tokenizer_checks import check_tokenizer
from agentgym_store.records import Trajectory


@dataclass(frozen=True)
class Material:
    """Opinions that can teach, and all that their training sequences depend on."""

    found: Usable
    episodes: Mapping[str, Trajectory]
    config: RunConfig | TrainConfig
    chosen: Objective
    renderer: ChatRenderer


@dataclass(frozen=True)
class Lesson:
    """Training sequences of one kind of data."""

    sequences: list[TrainingSequence] = field(default_factory=list[TrainingSequence])
    made: dict[str, int] = field(default_factory=dict[str, int])
    """Numbers of what opinions became."""
    rated: frozenset[str] = frozenset()
    """Episodes whose own outcome teaches nothing beside their scores."""
    below_chance: frozenset[str] = frozenset()
    turn_values: Mapping[str, StateValues] = field(default_factory=dict[str, StateValues])
    """Name -> labels of turns, for process reward models."""


def of_pairs(given: Material) -> Lesson:
    """Pairs of corrections and comparisons."""
    turns, lacking = corrected(given)
    preferred = preferences(given.found.comparisons, given.config.feedback)
    soft = bool(given.chosen.algorithm.soft_pairs)
    corrections = [pair for turn in turns if (pair := turn.pair) is not None]
    compared = _compared(preferred, given.episodes, soft=soft)
    sequences = unsampled(paired([*corrections, *compared], given.config.select.sequences))
    sequences = with_auxiliary_sequences(sequences, given.chosen)
    if given.chosen.name == "bradley_terry":
        members = int(given.chosen.options["heads"])
        sequences = for_reward_model(sequences, list(given.episodes.values()), (), members)
    made = {"pairs_of_corrections": len(corrections), "pairs_of_comparisons": len(compared)}
    made |= {"undecided_pairs": preferred.undecided, "inexpressible_corrections": lacking}
    if preferred.soft:
        made["soft_pairs" if soft else "hardened_pairs"] = preferred.soft
    return Lesson(_in_own_units(sequences), made, below_chance=preferred.below_chance)


def of_episodes(given: Material) -> Lesson:
    """Corrected actions; and where the algorithm weighs by scores, rated episodes with their weights."""
    turns, lacking = corrected(given)
    sequences = unsampled([one for turn in turns for one in turn.row(given.config.select.sequences)])
    made = {"corrected_actions": len(turns), "inexpressible_corrections": lacking}
    if given.chosen.name not in LEARNS_SCORES or given.config.select.score == OPINION:
        return Lesson(sequences, made)
    scores = aggregated(given.found.scores, given.config.feedback, given.episodes)
    own = [own_part(one) for one in rescored(_sorted(given, scores.values), scores.values)]
    rows = imitated(by_player(own)[1], given.chosen, given.config.select)
    weighed = {one.trajectory_id: one.weight for one in rows}
    made["weighted_episodes"] = sum(weight > 0 for weight in weighed.values())
    made["weightless_episodes"] = len(weighed) - made["weighted_episodes"]
    return Lesson([*sequences, *rows], made, frozenset(weighed), scores.below_chance)


def of_labels(given: Material) -> Lesson:
    """Desirable and undesirable episodes."""
    labels, below_chance = rated_labels(given.found.scores, given.episodes, given.config.feedback)
    sequences = unsampled(labelled(labels, given.config.select.sequences))
    sequences = with_auxiliary_sequences(sequences, given.chosen)
    desirable = sum(label.desirable for label in labels)
    made = {"desirable": desirable, "undesirable": len(labels) - desirable}
    rated = frozenset(label.trajectory.id for label in labels)
    return Lesson(_in_own_units(sequences), made, rated, below_chance)


def of_turns(given: Material) -> Lesson:
    """Labels of turns by name, without sequences: other heads of the model are labelled by counting."""
    found = {
        name: turn_labels(given.found.turns, name, given.config.feedback) for name in named(given.found.turns)
    }
    return Lesson(
        made={f"labelled_turns_{name}": one.count for name, one in found.items()},
        below_chance=frozenset().union(*(one.below_chance for one in found.values())),
        turn_values={name: one.values for name, one in found.items()},
    )


def of_groups(given: Material) -> Lesson:
    """No sequences: scores stand for returns (`select.score`), flags are costs; and labels of turns where a
    process reward model of the run learns them.
    """
    process = given.config.process if isinstance(given.config, RunConfig) else None
    return of_turns(given) if learns_opinions(process) else Lesson()


LESSONS: Mapping[str, Callable[[Material], Lesson]] = {
    "pairs": of_pairs,
    "episodes": of_episodes,
    "labels": of_labels,
    "steps": of_turns,
    "groups": of_groups,
}
"""By the kind of data of the algorithm."""


def corrected(given: Material) -> tuple[list[CorrectedTurn], int]:
    """Corrected turns, and the number of corrections that no message has."""
    form, renderer = action_format(given.config.action_format), given.renderer
    asked, episodes = given.found.corrections, given.episodes
    check_tokenizer([episodes[name] for name in dict.fromkeys(name for name, _, _ in asked)], renderer)
    turns = [corrected_turn(episodes[name], turn, action, renderer, form) for name, turn, action in asked]
    kept = [turn for turn in turns if turn is not None]
    return kept, len(turns) - len(kept)


def _compared(preferred: Preferences, episodes: Mapping[str, Trajectory], *, soft: bool) -> list[Pair]:
    """Pairs of episodes; these are certain unless `soft`."""
    return [
        _preferred(episodes[one], episodes[other], probability if soft else 1.0)
        for (one, other), probability in preferred.probability.items()
    ]


def _preferred(better: Trajectory, worse: Trajectory, probability: float) -> Pair:
    margin = max((better.total_reward or 0.0) - (worse.total_reward or 0.0), 0.0)
    return Pair(own_part(better), own_part(worse), margin, preference=probability)


def _sorted(given: Material, names: Mapping[str, float]) -> Sequence[Trajectory]:
    return [given.episodes[name] for name in sorted(names)]


def _in_own_units(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """The sequences with units of their own, beside those from outcomes."""
    return [replace(one, unit=f"feedback {one.unit}") if one.unit else one for one in sequences]
