from dataclasses import replace

import numpy as np
import pytest
import torch

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import EpisodeFacts, TrainingSequence
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.trainable_sequences import fit


def facts(*rewards: float, group: str = "task") -> EpisodeFacts:
    count = len(rewards)
    return EpisodeFacts(
        group=group,
        rewards=rewards,
        anchors=tuple(f"state {turn}" for turn in range(count)),
        modes=(0,) * count,
        invalid=(False,) * count,
        truncated=False,
    )


def sequence(
    name: str, turns: list[int], episode: EpisodeFacts | None = None, **more: object
) -> TrainingSequence:
    """A prompt of one token, then a token for each entry: -1 was read, others were said in that turn."""
    turn = np.array([-1, *turns], dtype=np.int32)
    length = len(turn)
    logp = np.where(turn >= 0, -0.5, np.nan).astype(np.float32)
    weight = float(more.pop("weight", 1.0))
    return TrainingSequence(
        np.arange(length, dtype=np.int32), turn >= 0, logp, weight, name, turn=turn, episode=episode, **more
    )


SEQUENCES = [
    sequence("a", [0, 0, -1, 1], facts(0.25, 0.5), weight=2.0),
    sequence("b", [0], facts(1.0, 0.0)),  # its template rewrote history: two sequences, one episode
    sequence("c", [0, 0], replace(facts(0.0, group="other"), truncated=True, costs={"harm": 3.0})),
    sequence("b", [1, 1, 1], facts(1.0, 0.0)),
]


def test_sequences_of_one_episode_are_one_sequence():
    assembly = Assembly(SEQUENCES)
    assert assembly.sequence.tolist() == [0, 1, 2, 1]
    assert assembly.tokens.tolist() == [3, 1, 2, 3]
    assert assembly.reward.tolist() == [0.75, 1.0, 0.0]
    assert assembly.group.tolist() == [0, 0, 1]
    assert assembly.atoms("sequence") == [[0], [1, 3], [2]]


def test_rollouts_lie_episode_by_episode_with_rewards_at_the_ends_of_turns():
    rollouts = Assembly(SEQUENCES).rollouts()
    #                                     a        b           c
    assert rollouts.sequence.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert rollouts.step.tolist() == [0, 0, 1, 2, 3, 3, 3, 4, 4]
    assert rollouts.reward.tolist() == [0, 0.25, 0.5, 1.0, 0, 0, 0, 0, 0]
    assert rollouts.returns.tolist() == [0.75, 1.0, 0.0]
    assert rollouts.group == ["task", "task", "other"]
    assert rollouts.truncated.tolist() == [False, False, True]
    assert rollouts.costs["harm"].tolist() == [0.0, 0.0, 3.0]
    assert rollouts.multipliers == {}
    assert Assembly(SEQUENCES).rollouts({"harm": 2.0}).multipliers == {"harm": 2.0}
    assert rollouts.steps.turn.tolist() == [0, 1, 0, 1, 0]
    assert rollouts.steps.tokens.tolist() == [2, 1, 1, 3, 2]
    assert rollouts.steps.sequence.tolist() == [0, 0, 1, 1, 2]


def test_a_column_in_the_order_of_rollouts_reaches_the_sequences_it_belongs_to():
    assembly = Assembly(SEQUENCES)
    assembly.add_column("advantage", np.arange(9.0))
    assert [values.tolist() for values in assembly.columns["advantage"]] == [
        [0, 1, 2],
        [3],
        [7, 8],
        [4, 5, 6],
    ]


def test_a_batch_holds_the_learnt_tokens_of_its_sequences_with_denominators_of_the_whole():
    assembly = Assembly(SEQUENCES)
    assembly.add_column("advantage", np.arange(9.0))
    whole = assembly.optimiser_batch([0, 1, 2, 3])
    assert (whole.totals.tokens, whole.totals.weight) == (9, 2.0 * 3 + 4 + 2)
    assert (whole.totals.sequences, whole.totals.groups, whole.totals.units) == (3, 2, 3)
    batch = assembly.batch(whole, [3, 2, 1], {"logp": torch.zeros(6)})
    assert batch.totals == whole.totals
    assert batch.sequence.tolist() == [0, 0, 0, 1, 1, 0]
    assert batch.lengths.tolist() == [4.0, 2.0]
    assert batch.reward.tolist() == [1.0, 0.0]
    assert batch.advantage.tolist() == [4, 5, 6, 7, 8, 3]
    assert batch.group_tokens.tolist() == [7.0, 2.0]  # a and b are one group, though a is not in this batch


def test_the_sides_of_a_pair_are_one_unit_of_two_sequences():
    pair = [
        sequence("a", [0], unit="p", side=1, margin=0.5),
        sequence("b", [0], unit="p", side=-1, margin=0.5),
    ]
    twice = [*pair, sequence("a", [0], unit="q", side=1), sequence("c", [0], unit="q", side=-1)]
    assembly = Assembly(twice)
    assert assembly.sequence.tolist() == [0, 1, 2, 3]  # a is in two pairs
    assert assembly.atoms("unit") == [[0, 1], [2, 3]]
    batch = assembly.batch(assembly.optimiser_batch([2, 3]), [3, 2], {"logp": torch.zeros(2)})
    assert batch.unit.tolist() == [0, 0]
    assert batch.side.tolist() == [1, -1]  # in the order of the sequences
    assert batch.sequence.tolist() == [1, 0]  # of which the sequences come the other way round


def test_rewards_need_every_turn_and_every_sequence_their_episode():
    with pytest.raises(ConfigError, match="turns that are not trained on"):
        Assembly([sequence("a", [1, 1], facts(0.5, 0.5))]).rollouts()
    with pytest.raises(ConfigError, match="episode d comes without its rewards"):
        Assembly([sequence("d", [0])]).rollouts()


def test_an_episode_or_a_pair_that_lost_a_part_is_dropped_whole():
    long = [0] * 9
    fitting = fit(
        [sequence("a", [0], facts(1.0, 0.0)), sequence("a", [1, *long], facts(1.0, 0.0))], max_tokens=5
    )
    assert (len(fitting.sequences), fitting.dropped_overflow, fitting.dropped_incomplete) == (0, 1, 1)
    pair = [sequence("a", [0], unit="p", side=1), sequence("b", long, unit="p", side=-1)]
    fitting = fit([*pair, sequence("c", [0])], max_tokens=5)
    assert [kept.trajectory_id for kept in fitting.sequences] == ["c"]
    assert (fitting.dropped_overflow, fitting.dropped_incomplete) == (1, 1)


def test_a_reward_that_is_not_finite_is_refused():
    with pytest.raises(ConfigError, match="episode a has a reward that is not finite"):
        fit([sequence("a", [0], facts(float("nan")))], max_tokens=9)


def test_labels_are_counted_over_the_whole_optimiser_batch_by_head():
    unknown = np.nan
    # the labels of prompts and of tokens that were read do not count, here the 9s
    labelled = [
        sequence("a", [0, -1, 1], labels=np.array([[9, 9], [1, unknown], [9, 9], [0, 0.5]], np.float32)),
        sequence("b", [0], labels=np.array([[9, 9], [1, unknown]], np.float32)),
    ]
    assembly = Assembly(labelled)
    assert assembly.optimiser_batch([0, 1]).totals.labels == (3, 1)
    assert assembly.optimiser_batch([1]).totals.labels == (1, 0)
    assert Assembly(SEQUENCES).optimiser_batch([0]).totals.labels == ()
    counted = [replace(each, label_samples=np.arange(len(each.mask), dtype=np.float32)) for each in labelled]
    assert [values.tolist() for values in Assembly(counted).columns["label_samples"]] == [[1, 3], [1]]
    assert "label_samples" not in Assembly([counted[0], labelled[1]]).columns
