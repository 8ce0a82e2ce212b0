"""Several heads, rules and pooled values of a process reward model, by hand, and labels out of a table."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.trajectories import trajectory

from agentevol.config.run import TrainConfig, load
from agentevol.core.errors import ConfigError
from agentevol.data.rewards.objectives import achieved
from agentevol.data.rewards.process_rewards import agreements, centred, counted_by_head, process_rewards
from agentevol.data.rewards.state_values import State, pooled_values, recorded_states
from agentevol.data.training_sequences import facts, valued
from agentevol.learn.rewards.monte_carlo_values import StateValue
from agentevol.rollout.continuations import continuations
from agentevol.runs.training_data import state_sequences
from agentgym_store.records import Sample, Trajectory, Turn


def episode(name: str, rewards: Sequence[float], attempt: int = 0, **info: object) -> Trajectory:
    turns, prompt = [], [1]
    for number, reward in enumerate(rewards):
        ids = {"prompt_ids": tuple(prompt), "token_ids": (10 + number, 2)}
        sample = Sample(text="", **ids, logprobs=(-0.5, -0.25), policy_version=3)
        turns.append(Turn(action="a", observation=f"o{number}", reward=reward, sample=sample, info=info))
        prompt += [10 + number, 2, 3]
    return trajectory(
        id=name, iteration=2, task_id="t/1", attempt=attempt, initial_observation="start", turns=tuple(turns)
    )


WON, LOST = episode("won", [0.0, 1.0]), episode("lost", [0.0, 0.0], 1)
FACTS = {t.id: facts(t) for t in (WON, LOST)}
OUTCOME = {"won": {0: 0.75}, "lost": {0: 0.25}}
EFFICIENCY = {"won": {0: 0.5}, "lost": {0: 0.125}}


def test_heads_and_rules_are_weighed_by_hand():
    found = process_rewards(
        [WON, LOST], FACTS, [OUTCOME, EFFICIENCY], {"outcome": 1.0, "efficiency": 0.2}, {"repetitions": 0.1}
    )
    # outcome: start 0.5, so 0.25 and 0.25; efficiency: start (1/2 + 0) / 2 = 0.25, so 0.25 and 0
    # the second turn says `a` again, but not in the same state
    assert found["won"].tolist() == pytest.approx([0.25 + 0.2 * 0.25, 0.25])
    # -0.25, -0.25 and -0.125, -0.125
    assert found["lost"].tolist() == pytest.approx([-0.25 - 0.2 * 0.125] * 2)
    alone = process_rewards([WON, LOST], FACTS, [OUTCOME], {"outcome": 1.0}, {})
    assert alone["won"].tolist() == pytest.approx([0.25, 0.25])


def test_opinions_reward_a_turn_by_its_distance_from_the_mean_of_the_group():
    relevance = {"won": {0: 0.9, 1: 0.5}, "lost": {1: 0.1}}
    found = process_rewards(
        [WON, LOST], FACTS, [OUTCOME, relevance], {"outcome": 1.0}, {}, {"relevance": 0.5}
    )
    # the mean of 0.9, 0.5 and 0.1 is 0.5; the first turn of the lost episode has no quality
    assert found["won"].tolist() == pytest.approx([0.25 + 0.2, 0.25])
    assert found["lost"].tolist() == pytest.approx([-0.25, -0.25 - 0.2])
    alone = process_rewards([WON, LOST], FACTS, [{}], {}, {}, {"relevance": 1.0})
    assert {name: told.tolist() for name, told in alone.items()} == {"won": [0, 0], "lost": [0, 0]}


def test_qualities_of_another_group_do_not_count_in_its_mean():
    other = {**FACTS, "lost": dataclasses.replace(FACTS["lost"], group="another")}
    found = centred(other, {"won": {0: 0.75, 1: 0.25}, "lost": {0: 1.0, 1: 1.0}})
    assert found["won"].tolist() == [0.25, -0.25]
    assert found["lost"].tolist() == [0, 0]


def test_a_turn_that_breaks_a_rule_loses_its_weight():
    refused = episode("won", [0.0, 1.0], invalid_action=True, mode=-1)
    found = process_rewards(
        [refused], {"won": facts(refused)}, [{}], {"outcome": 1.0}, {"invalid_actions": 0.1, "format": 0.01}
    )
    assert found["won"].tolist() == pytest.approx([-0.11, -0.11])  # V(start) = 1 = outcome
    same = episode("won", [0.0, 1.0], state="here")
    again = process_rewards([same], {"won": facts(same)}, [{}], {"outcome": 1.0}, {"repetitions": 0.3})
    assert again["won"].tolist() == pytest.approx([0.0, -0.3])


def test_a_head_of_which_nobody_said_anything_contributes_nothing_to_that_episode():
    told = episode("won", [0.0, 1.0], scores={"polite": 0.5})
    found = process_rewards(
        [told, LOST],
        {"won": facts(told), "lost": FACTS["lost"]},
        [{"won": {0: 0.75}, "lost": {0: 0.75}}],
        {"polite": 1.0},
        {},
    )
    assert found["won"].tolist() == pytest.approx([0.25, -0.25])  # start 0.5: the other one has no score
    assert found["lost"].tolist() == [0.0, 0.0]


def continuation(number: int, rewards: Sequence[float], **info: object) -> Trajectory:
    request = continuations(State(WON, 0), number + 1, seed=0, max_turns=None)[number]
    return episode(request.id, rewards, **info).model_copy(update={"purpose": "value"})


PLAYED = [continuation(0, [0.0, 1.0]), continuation(1, [0.0, 0.0, 0.0, 1.0]), continuation(2, [0.0, 0.0])]


def test_continuations_are_counted_for_each_head():
    counted = counted_by_head([State(WON, 0)], [WON], PLAYED, 3, ["efficiency", "outcome"])
    # 1/2, 1/4 and 0 by turn
    assert counted["efficiency"].values == {"won": {0: StateValue(0.75, 3)}}
    assert counted["outcome"].values == {"won": {0: StateValue(2.0, 3)}}
    (sequence,) = valued([WON], *(one.values for one in counted.values()))
    assert sequence.labels is not None
    assert sequence.label_samples is not None
    assert sequence.labels[sequence.mask].tolist() == [pytest.approx([0.25, 2 / 3])]
    assert sequence.label_samples[sequence.mask].tolist() == [3.0]


def test_a_head_without_a_value_of_a_state_has_no_label_there():
    (sequence,) = valued([WON], {"won": {0: StateValue(1.0, 2)}}, {})
    assert sequence.labels is not None
    assert sequence.labels[sequence.mask][0, 0] == 0.5
    assert np.isnan(sequence.labels[sequence.mask][0, 1])


def test_figures_of_several_heads_have_their_names():
    labels = {"outcome": {"won": {0: StateValue(1.0, 2)}}, "safety": {}}
    found = agreements([OUTCOME, OUTCOME], labels)
    assert found["process_outcome_brier"] == pytest.approx(0.0625)
    assert math.isnan(found["process_safety_brier"])
    assert agreements([OUTCOME], {"outcome": labels["outcome"]})["process_brier"] == pytest.approx(0.0625)


def test_safety_is_1_without_a_cost_that_the_world_tells():
    hot, cold = episode("hot", [1.0], costs={"heat": 1}), episode("cold", [1.0], costs={"heat": 0})
    counted = pooled_values([hot, cold])
    assert counted.values == {}  # one turn each: the outcome is all there is
    found = process_rewards([hot, cold], {t.id: facts(t) for t in (hot, cold)}, [{}], {"safety": 1.0}, {})
    assert (found["hot"].tolist(), found["cold"].tolist()) == ([-0.5], [0.5])
    # a cost that nobody could judge leaves it open, unless there was another
    unknown = episode("unknown", [1.0], costs={"heat": None})
    both = episode("both", [1.0], costs={"heat": None, "noise": 1})
    told = achieved([unknown, both], ["safety"])
    assert math.isnan(told["unknown"][0])
    assert told["both"][0] == 0.0


def test_states_that_three_episodes_passed_through_have_the_share_that_won():
    episodes = [
        episode("a", [0.0, 1.0], 0, state="kitchen"),
        episode("b", [0.0, 0.0, 0.0], 1, state="kitchen"),  # twice there, counts once
        episode("c", [0.0, 1.0], 2, state="kitchen"),
        episode("d", [0.0, 1.0], 3, state="cellar"),
    ]
    found = pooled_values(episodes)
    kitchen = StateValue(2.0, 3)
    assert found.values == {"a": {0: kitchen}, "b": {0: kitchen, 1: kitchen}, "c": {0: kitchen}}
    assert found.figures == {
        "process_states": 4.0,
        "process_mismatch_rate": 0.0,
        "process_truncated_rate": 0.0,
    }
    assert pooled_values(episodes[:2] + episodes[3:]).values == {}  # two are too few
    elsewhere = [episodes[2].model_copy(update={"task_id": "t/2"}), *episodes[:2]]
    assert pooled_values(elsewhere).values == {}  # another task


def test_a_table_tells_from_which_states_its_continuations_were_played():
    states, count = recorded_states([LOST, WON], PLAYED)
    assert (states, count) == ([State(WON, 0)], 3)
    assert recorded_states([LOST], PLAYED)[0] == []


def test_a_process_reward_model_learns_from_a_table_or_says_what_it_needs():
    def config(*more: str) -> TrainConfig:
        return load(None, ["algorithm=process_reward", *more], TrainConfig)

    (sequence,) = state_sequences(
        [WON, LOST, *PLAYED], config('objectives=["outcome","efficiency"]'), Path("runs/a")
    )
    assert sequence.labels is not None
    # in the order of a run's heads, whatever it was named in: efficiency before outcome
    assert sequence.labels[sequence.mask].tolist() == [pytest.approx([0.25, 2 / 3])]
    with pytest.raises(
        ConfigError, match=r"runs/a holds no continuations.*process.continuations=K, or set pooled"
    ):
        state_sequences([WON, LOST], config(), Path("runs/a"))
    three = [WON, LOST, WON.model_copy(update={"id": "more"})]
    pooled = state_sequences(three, config("pooled=true"), Path("runs/a"))
    assert [r.labels[r.mask].tolist() for r in pooled if r.labels is not None] == [
        [[pytest.approx(2 / 3)]]
    ] * 3
    with pytest.raises(ConfigError, match="pooled has no effect: 'sft'"):
        load(None, ["pooled=true"], TrainConfig)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["process.rules.format=0.1"], "it belongs to: continuations, pooled, model"),
        (
            ["process.pooled=true", "process.continuations=2"],
            "process.pooled is no setting of process",
        ),
        (["process.model=prm", "process.epochs=5"], "process.epochs is no setting of process 'model'"),
        (["process.model=prm", "process.states=5"], "it belongs to: continuations"),
        (["process.pooled=true", "process.share=0.5"], "process.share is no setting of process 'pooled'"),
        (["process.pooled=true", "process.heads.turns=1"], "lie in"),
        (["process.pooled=true", "process.heads.outcome=0"], "needs one with a weight above 0"),
        (["process.pooled=true", "process.rules.style=1"], "process.rules.style"),
        (["process.pooled=true", "process.heads.safety=-1"], "process.heads.safety"),
    ],
)
def test_settings_of_heads_and_sources_without_effect_are_refused(settings: list[str], said: str):
    fine = load(None, ["algorithm=ppo", "process.pooled=true", "process.heads.efficiency=0.5"])
    assert fine.process.model_heads == {"efficiency": 0.5, "outcome": 1.0}
    with pytest.raises(ConfigError, match=said):
        load(None, ["algorithm=ppo", *settings])
