"""From episodes to sequences for each kind of algorithm."""

from collections.abc import Sequence
from math import isnan
from typing import Any

import pytest
import torch
from support.trajectories import trajectory

from agentevol.config.run import TrainConfig, load
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.algorithms.contract import Batch
from agentevol.core.algorithms.registry import objective
from agentevol.data.preference_pairs import Label, Pair
from agentevol.data.training_sequences import facts, grouped, imitated, labelled, paired, sequences_of
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.trainable_sequences import NothingToLearn, fit
from agentevol.runs.training_data import kept_figures
from agentgym_store.records import Sample, Terminated, Trajectory, Truncated, Turn, total_costs


def episode(
    name: str, rewards: Sequence[float], *, task: str = "t", infos: Sequence[dict] = (), cut: bool = False
) -> Trajectory:
    """Turns that read one token and say two; equal for all episodes but for the number of turns."""
    turns, prompt = [], [1]
    for number, reward in enumerate(rewards):
        ids = {"prompt_ids": tuple(prompt), "token_ids": (10 + number, 2)}
        sample = Sample(text="", **ids, logprobs=(-0.5, -0.25), policy_version=3)
        turn = Turn(action=f"{name}{number}", observation=f"seen {number}", reward=reward, sample=sample)
        turns.append(turn.model_copy(update={"info": infos[number]}) if infos else turn)
        prompt += [10 + number, 2, 3]
    return trajectory(
        id=name,
        iteration=2,
        task_id=task,
        initial_observation="start",
        turns=tuple(turns),
        ending=Truncated(limit="max_turns") if cut else Terminated(),
    )


def test_facts_of_an_episode_by_turn():
    harm = [{"mode": 2, "costs": {"harm": 1}}, {"invalid_action": True, "state": "seen 0\ngo"}]
    infos = [*harm, {"costs": {"harm": 0.5}}]
    found = facts(episode("a", [0.0, 0.25, 0.5], infos=infos, cut=True))
    assert (found.group, found.environment) == ("r/2/guess/t", "guess")
    assert found.rewards == (0.0, 0.25, 0.5)
    assert found.anchors == ("start", "seen 0\ngo", "seen 1")  # what was read, where no state was noted
    assert found.modes == (2, 0, 0)
    assert found.invalid == (False, True, False)
    assert found.truncated
    assert found.costs == {"harm": 1.5, "turns": 3.0, "tokens": 6.0, "invalid_actions": 1.0}


def test_the_costs_of_an_episode_are_those_of_its_turns_and_unknown_where_one_was_not_judged():
    told = episode("a", [0.0, 0.0])
    costs = ({"harm": 0.5, "noise": 1.0, "tokens": 2.0}, {"harm": 0.25, "noise": None})
    turns = [turn.model_copy(update={"costs": cost}) for turn, cost in zip(told.turns, costs, strict=True)]
    found = facts(told.model_copy(update={"turns": tuple(turns)})).costs
    assert isnan(found.pop("noise"))
    assert found == {"harm": 0.75, "turns": 2.0, "tokens": 6.0, "invalid_actions": 0.0}
    both = turns[0].model_copy(update={"info": {"costs": {"harm": 9.0}}})
    assert total_costs([both]) == {"harm": 0.5, "noise": 1.0, "tokens": 2.0}  # a turn's own come first


def test_groups_are_whole_episodes_with_their_facts():
    sequences = grouped([episode("a", [0.0, 1.0]), episode("b", [0.0], task="u")], objective("grpo"))
    assert [sequence.trajectory_id for sequence in sequences] == ["a", "b"]
    assert sequences[0].turn.tolist() == [-1, 0, 0, -1, 1, 1]
    assert [sequence.episode.group for sequence in sequences] == ["r/2/guess/t", "r/2/guess/u"]


def test_turns_that_both_sides_of_a_pair_share_are_not_learnt():
    good, bad = episode("a", [0.0, 1.0]), episode("b", [0.0, 0.0, 0.0])
    sequences = paired([Pair(good, bad, margin=1.0, shared_turns=1), Pair(good, bad, margin=1.0)])
    assert [(sequence.trajectory_id, sequence.unit, sequence.side) for sequence in sequences] == [
        ("a", "pair 0", 1),
        ("b", "pair 0", -1),
        ("a", "pair 1", 1),
        ("b", "pair 1", -1),
    ]
    assert [int(sequence.mask.sum()) for sequence in sequences] == [2, 4, 4, 6]
    assert sequences[0].margin == 1.0


def test_labels_are_sides_with_weights():
    sequences = labelled([Label(episode("a", [1.0]), True, 2.0), Label(episode("b", [0.0]), False, 1.0)])
    assert [(sequence.side, sequence.weight) for sequence in sequences] == [(1, 2.0), (-1, 1.0)]


ALL = SelectConfig(turns="all")


def test_what_is_imitated_has_the_weights_of_the_algorithm():
    episodes = [episode("a", [0.25]), episode("b", [1.0])]
    assert [sequence.weight for sequence in imitated(episodes, objective("agentevol"), ALL)] == [0.25, 1.0]
    assert [sequence.weight for sequence in imitated(episodes, objective("sft"), ALL)] == [1.0, 1.0]
    binary = objective("filtered_bc", {"threshold": 0.5})
    assert [sequence.weight for sequence in imitated(episodes, binary, ALL)] == [0.0, 1.0]


def test_the_algorithm_decides_what_sequences_are_made_of_and_their_order_does_not_matter():
    episodes = [episode("a", [1.0]), episode("b", [0.0, 0.0]), episode("c", [0.0], task="u")]
    config = load(None, ["algorithm=dpo"], TrainConfig)
    sequences = sequences_of(episodes, objective("dpo"), config, seed=0)
    assert [(sequence.trajectory_id, sequence.side) for sequence in sequences] == [
        ("a", 1),
        ("b", -1),
    ]  # task u has one episode
    again = sequences_of(episodes[::-1], objective("dpo"), config, seed=0)
    assert [sequence.trajectory_id for sequence in again] == ["a", "b"]
    assert (
        len(sequences_of(episodes, objective("adpo"), load(None, ["algorithm=adpo"], TrainConfig), seed=0))
        == 3
    )
    assert [sequence.side for sequence in sequences_of(episodes, objective("kto"), config, seed=0)] == [
        1,
        -1,
        -1,
    ]


def test_one_sided_tasks_say_why_there_is_no_pair():
    won = [episode("a", [1.0]), episode("b", [1.0])]
    with pytest.raises(NothingToLearn, match="no pair in 1 tasks: 1 of them one-sided"):
        sequences_of(won, objective("dpo"), load(None, ["algorithm=dpo"], TrainConfig), seed=0)
    cut = [episode("a", [1.0]), episode("b", [0.0], cut=True)]
    strict = load(None, ["algorithm=dpo", "pairs.truncated_is_loss=false"], TrainConfig)
    with pytest.raises(NothingToLearn, match="1 combinations lost to a limit only"):
        sequences_of(cut, objective("dpo"), strict, seed=0)


def test_episodes_of_equal_return_make_a_pair_only_where_asked():
    both = [episode("a", [0.0]), episode("b", [0.0, 0.0, 0.0])]  # lost in one turn, lost in three
    with pytest.raises(NothingToLearn, match="1 of them one-sided"):
        sequences_of(both, objective("dpo"), load(None, ["algorithm=dpo"], TrainConfig), seed=0)
    asked = load(None, ["algorithm=dpo", "pairs.tie_breaks=true"], TrainConfig)
    assert [sequence.trajectory_id for sequence in sequences_of(both, objective("dpo"), asked, seed=0)] == [
        "a",
        "b",
    ]


EXPLORED = [
    episode(f"{task}-{attempt}", [reward], task=task)
    for task, rewards in (("mixed", (1.0, 0.0, 1.0)), ("failed", (0.0, 0.0)))
    for attempt, reward in enumerate(rewards)
]


def batch_for(name: str, **options: Any) -> Batch:
    """The optimiser batch of all sequences, with the advantages of the algorithm."""
    chosen = objective(name, options)
    assembly = Assembly(fit(grouped(EXPLORED, chosen), 100).sequences)
    if chosen.advantage is not None:
        assembly.add_column("advantage", chosen.advantage(assembly.rollouts()).advantage)
    indices = range(len(assembly.training_sequences))
    tokens = int(assembly.tokens.sum())
    columns = {column: torch.full((tokens,), -1.0) for column in ("logp", "old_logp", "ref_logp")}
    return assembly.batch(assembly.optimiser_batch(list(indices)), indices, columns)


@pytest.mark.parametrize("name", ["adpo", "ranking"])
def test_the_samples_of_a_task_are_one_unit(name: str):
    batch = batch_for(name)
    assert batch.unit.tolist() == [0, 0, 0, 1, 1]
    assert batch.totals.units == 2
    assert objective(name).loss(batch).value.isfinite()


def test_groups_that_the_algorithm_drops_are_not_learnt():
    assert batch_for("adpo").totals.units == 2
    dropped = batch_for("adpo", drop_all_failed=True)
    assert (dropped.totals.units, dropped.totals.sequences) == (1, 3)


def test_thresholds_are_those_of_the_environment():
    low = episode("a", [0.5])
    other = episode("b", [0.5]).model_copy(update={"env": "chat"})
    config = SelectConfig(rule="all", turns="all", thresholds={"chat": 0.5})
    assert [sequence.weight for sequence in imitated([low, other], objective("filtered_bc"), config)] == [
        0.0,
        1.0,
    ]
    assert [sequence.weight for sequence in imitated([low, other], objective("filtered_bc"), ALL)] == [
        0.0,
        0.0,
    ]


def forced(trajectory: Trajectory, turn: int, *mask: int) -> Trajectory:
    """The episode with a loss mask in this turn."""
    turns = list(trajectory.turns)
    sample = turns[turn].sample.model_copy(update={"loss_mask": mask})
    turns[turn] = turns[turn].model_copy(update={"sample": sample})
    return trajectory.model_copy(update={"turns": tuple(turns)})


def test_an_episode_with_a_turn_of_which_nothing_may_be_learnt_has_no_place_for_its_reward():
    kept = forced(episode("a", [0.0, 1.0]), 1, 0, 1)
    lost = forced(episode("b", [0.0, 1.0]), 0, 0, 0)
    sequences = grouped([kept, lost], objective("grpo"))
    assert [int(sequence.mask.sum()) for sequence in sequences] == [3, 0]
    fitting = fit(sequences, 100)
    assert (len(fitting.sequences), fitting.dropped_empty) == (1, 1)
    assert Assembly(fitting.sequences).rollouts().returns.tolist() == [1.0]
    # what is imitated has no rewards to place
    assert [int(sequence.mask.sum()) for sequence in imitated([lost], objective("sft"), ALL)] == [2]


@pytest.mark.parametrize("name", ["sft", "grpo", "dpo", "kto"])
def test_every_kind_of_algorithm_takes_a_sequence_for_every_turn(name: str):
    both = [episode("a", [0.0, 1.0]), episode("b", [0.0, 0.0, 0.0])]
    chosen = objective(name)
    shared = ["select.rule=all", f"algorithm={name}", "select.turns=all"]
    whole = sequences_of(both, chosen, load(None, shared, TrainConfig), seed=0)
    each = sequences_of(both, chosen, load(None, [*shared, "select.sequences=per_step"], TrainConfig), seed=0)
    assert (len(whole), len(each)) == (2, 5)
    one, other = Assembly(whole), Assembly(each)
    assert one.weight.tolist() == other.weight.tolist()  # an episode counts once, whatever its sequences
    totals = [each.optimiser_batch(range(len(each.training_sequences))).totals for each in (one, other)]
    assert totals[0].sequences == totals[1].sequences == 2
    assert totals[0].tokens == totals[1].tokens == 10


def test_what_is_kept_is_told_by_environment_and_what_weighs_nothing_is_not_kept():
    guess = [episode("a", [1.0]), episode("b", [0.0]), episode("c", [0.0], task="u")]
    chat = [t.model_copy(update={"id": f"chat {t.id}", "env": "chat"}) for t in guess[:1]]
    everything = SelectConfig(rule="all", turns="all")
    sequences = imitated([*guess, *chat], objective("filtered_bc"), everything)
    assert kept_figures([*guess, *chat], sequences) == {
        "keep_rate_chat": 1.0, "tasks_solved_chat": 1.0, "tasks_never_solved_chat": 0.0,
        "distinct_ratio_chat": 1.0, "keep_rate_guess": pytest.approx(1 / 3), "tasks_solved_guess": 1.0,
        "tasks_never_solved_guess": 1.0, "distinct_ratio_guess": 1.0,
    }  # fmt: skip


def test_filtered_cloning_of_episodes_that_were_all_kept_is_fine_tuning():
    won = [episode("a", [1.0]), episode("b", [1.0], task="u"), episode("c", [0.0, 1.0])]
    filtered, tuned = (imitated(won, objective(name), ALL) for name in ("filtered_bc", "sft"))
    assert (
        [sequence.weight for sequence in filtered]
        == [sequence.weight for sequence in tuned]
        == [1.0, 1.0, 1.0]
    )


def test_returns_of_0_leave_weighted_cloning_nothing_to_learn_and_are_counted():
    sequences = imitated([episode("a", [0.0]), episode("b", [0.0])], objective("weighted_bc"), ALL)
    fitting = fit(sequences, 100)
    assert (fitting.sequences, fitting.dropped_weightless) == ((), 2)


def test_success_is_what_was_earned_and_not_how_the_episode_ended():
    assert episode("a", [1.0], cut=True).succeeded()
    assert not episode("a", [0.5]).succeeded()
