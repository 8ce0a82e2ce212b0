"""Given turns are nobody's: training on an episode that began with turns of another one."""

import numpy as np
import pytest
from support.trajectories import trajectory

from agentevol.config.sections.selection import SelectConfig
from agentevol.core.algorithms.registry import objective
from agentevol.data.composition import versions
from agentevol.data.groups import group_of, own_part
from agentevol.data.preference_pairs import labels, pair_up
from agentevol.data.rewards.process_rewards import process_rewards
from agentevol.data.rewards.state_values import chosen_states, pooled_values
from agentevol.data.selection.filters import learnt_turns, select
from agentevol.data.training_sequences import costs, facts, grouped, imitated, paired
from agentevol.learn.batches.packing import episode_sequences
from agentgym_store.records import STATE, Sample, Trajectory, Turn


def turn(action: int, prompt: tuple[int, ...], reward: float, version: int, **fields: object) -> Turn:
    sample = Sample(
        text=str(action), prompt_ids=prompt, token_ids=(action,), logprobs=(-0.5,), policy_version=version
    )
    return Turn(action=str(action), observation=f"after {action}", reward=reward, sample=sample, **fields)


GIVEN = (
    turn(11, (1, 2), 0.25, 1, info={STATE: "s0", "invalid_action": True}, costs={"harm": 4.0}),
    turn(12, (1, 2, 11, 3), 0.5, 1, info={STATE: "s1", "mode": 3}),
)
OWN = (
    turn(13, (1, 2, 11, 3, 12, 4), 0.0, 2, info={STATE: "s2"}, costs={"harm": 0.5}),
    turn(14, (1, 2, 11, 3, 12, 4, 13, 5), 1.0, 2, info={STATE: "s3"}),
)


def episode(name: str = "e", given: int = 2, own: tuple[Turn, ...] = OWN, **fields: object) -> Trajectory:
    return trajectory(
        id=name, turns=(*GIVEN, *own), given_turns=given, parent="p" if given else None, **fields
    )


def learnt(sequences: list) -> list[list[int]]:
    return [sequence.token_ids[sequence.mask].tolist() for sequence in sequences]


def test_only_the_other_turns_tokens_are_learnt_and_the_given_ones_are_context():
    (sequence,) = episode_sequences(own_part(episode()), 1.0)
    assert sequence.token_ids.tolist() == [1, 2, 11, 3, 12, 4, 13, 5, 14]
    assert learnt([sequence]) == [[13, 14]]
    # log-probabilities are compared where they are known: not of given turns
    assert np.flatnonzero(~np.isnan(sequence.rollout_logp)).tolist() == [6, 8]
    assert sequence.policy_version == 2
    # counter-test: the same turns as the policy's own
    (whole,) = episode_sequences(own_part(episode(given=0)), 1.0)
    assert learnt([whole]) == [[11, 12, 13, 14]]
    assert whole.token_ids.tolist() == sequence.token_ids.tolist()


def test_rewards_costs_and_states_of_given_turns_count_for_nothing():
    found = facts(own_part(episode()))
    assert found.rewards == (0.0, 1.0)  # a return of 1, where the table's is 1.75
    assert found.anchors == ("s2", "s3")
    assert (found.modes, found.invalid) == ((0, 0), (False, False))
    assert found.costs == {"turns": 2.0, "tokens": 2.0, "invalid_actions": 0.0, "harm": 0.5}
    assert episode().total_reward == 1.75
    assert own_part(episode()).total_reward == 1.0
    assert versions([own_part(episode())]) == {"e": [2, 2]}
    assert own_part(episode(given=0)) == episode(given=0)


def test_a_group_is_a_task_and_a_start_state():
    first, second, whole = own_part(episode("a")), own_part(episode("b")), own_part(episode("c", given=0))
    elsewhere = own_part(episode("d", given=1))
    assert group_of(first) == group_of(second)
    assert len({group_of(one) for one in (first, whole, elsewhere)}) == 3
    sequences = grouped([first, second], objective("grpo"))
    assert learnt(sequences) == [[13, 14], [13, 14]]
    assert {sequence.unit for sequence in sequences} == {group_of(first)}


def test_imitation_and_preferences_learn_none_of_them_either():
    assert learnt(imitated([own_part(episode())], objective("sft"), SelectConfig())) == [[13, 14]]
    lost = own_part(episode("lost", own=(turn(15, (1, 2, 11, 3, 12, 4), 0.0, 2),)))
    pairs = pair_up([own_part(episode("won")), lost]).pairs
    assert learnt(paired(pairs)) == [[13, 14], [15]]
    assert [pair.margin for pair in pairs] == [1.0]
    assert [label.desirable for label in labels([own_part(episode("won")), lost])] == [False, True]
    assert learnt_turns(own_part(episode()), "valid") == [True, True]
    assert costs(lost)["turns"] == 1.0


def test_rewards_of_turns_and_values_of_states_are_of_the_other_turns():
    other = (OWN[0], turn(15, (), 0.0, 2, info={STATE: "s3"}))
    two = [own_part(episode("a")), own_part(episode("b", own=other))]
    values, of_facts = {"a": {0: 0.75}, "b": {}}, {t.id: facts(t) for t in two}
    found = process_rewards(two, of_facts, [values], {"outcome": 1.0}, {})
    # the common start is worth 0.5
    assert {name: rewards.tolist() for name, rewards in found.items()} == {
        "a": [0.25, 0.25],
        "b": [0.0, -0.5],
    }
    counted = pooled_values(two, at_least=2)
    assert {name: list(turns) for name, turns in counted.values.items()} == {"a": [0], "b": [0]}
    assert chosen_states([t for t in two if t.parent is None], share=1.0, per_episode=2, seed=0) == []


@pytest.mark.parametrize("rule", ["all", "succeeded", "best_of"])
def test_an_episode_of_given_turns_alone_is_never_selected(rule: str):
    alone = trajectory(id="e", turns=(turn(11, (1,), 1.0, 1),), given_turns=1)
    assert select([own_part(alone)], SelectConfig(rule=rule), 0) == []
    assert select([alone], SelectConfig(rule=rule), 0) == [alone]
