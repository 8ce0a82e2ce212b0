"""Pairs with demonstrations and with lost episodes of earlier iterations."""

from typing import Any

import pytest
from support.trajectories import trajectory

from agentevol.config.run import TrainConfig, load
from agentevol.config.sections.selection import PairsConfig
from agentevol.core.errors import ConfigError
from agentevol.data.pair_sources import PairSources, all_pairs, lost_before
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentgym_store.records import Sample, Terminated, Trajectory, Truncated, Turn


def played(name: str, reward: float, *actions: str, cut: bool = False, **fields: Any) -> Trajectory:
    """An own episode whose last action earns the reward."""
    turns = [
        Turn(
            action=action,
            observation="o",
            reward=reward if number == len(actions) - 1 else 0.0,
            sample=Sample(text=action, prompt_ids=(1,), token_ids=(7, number), logprobs=(-1.0, -1.0),
                          policy_version=0),
        )
        for number, action in enumerate(actions)
    ]  # fmt: skip
    ending = Truncated(limit="max_turns") if cut else Terminated()
    return trajectory(id=name, turns=tuple(turns), ending=ending, **fields)


def shown(name: str, *actions: str, **fields: Any) -> Trajectory:
    """A won episode of the expert."""
    last = len(actions) - 1
    turns = [Turn(action=a, observation="o", reward=float(n == last)) for n, a in enumerate(actions)]
    return trajectory(id=name, purpose="demonstrate", turns=tuple(turns), **fields)


def sides(own: list[Trajectory], sources: PairSources, **pairs: Any) -> list[tuple[str, str]]:
    config = PairsConfig.model_validate(pairs)
    return [(one.chosen.id, one.rejected.id) for one in all_pairs(own, sources, config, seed=0)]


D = shown("d", "go", "take")
WON, LOST = played("won", 1.0, "go", "look", "take"), played("lost", 0.0, "look")
SOURCES = PairSources(demonstrations=(D,))


def test_a_demonstration_is_above_a_lost_episode_beside_the_pairs_of_own_ones():
    assert sides([WON, LOST], SOURCES, demonstrations="lost") == [("won", "lost"), ("d", "lost")]
    assert sides([WON, LOST], PairSources()) == [("won", "lost")]


def test_a_demonstration_is_above_any_own_episode_in_place_of_their_pairs():
    assert sides([WON, LOST], SOURCES, demonstrations="any") == [("d", "lost"), ("d", "won")]
    other = [played("x", 1.0, "a", task_id="u"), played("y", 0.0, "b", task_id="u")]  # none is shown there
    assert sides([WON, *other], SOURCES, demonstrations="any") == [("x", "y"), ("d", "won")]


def test_a_task_that_is_lost_alone_has_pairs_by_its_demonstration_only():
    lost = [LOST, played("lost too", 0.0, "wait")]
    assert sides(lost, SOURCES, demonstrations="lost") == [("d", "lost"), ("d", "lost too")]
    with pytest.raises(NothingToLearn, match="1 of them one-sided"):
        sides(lost, PairSources())


def test_the_demonstrations_own_actions_carry_no_preference():
    same = played("same", 0.0, "go", "take")
    assert sides([same, LOST], SOURCES, demonstrations="any") == [("d", "lost")]
    with pytest.raises(NothingToLearn, match="none of 1 tasks with a demonstration"):
        sides([same], SOURCES, demonstrations="any")


def test_an_episode_that_a_limit_ended_is_lost_only_where_that_is_so():
    cut = played("cut", 0.0, "look", cut=True)
    assert sides([cut], SOURCES, demonstrations="lost", truncated_is_loss=True) == [("d", "cut")]
    assert sides([cut], SOURCES, demonstrations="any") == [("d", "cut")]
    with pytest.raises(NothingToLearn):
        sides([cut], SOURCES, demonstrations="lost")


def test_a_demonstration_of_another_start_makes_no_pair():
    other = PairSources(demonstrations=(shown("d", "go", initial_observation="another room"),))
    with pytest.raises(NothingToLearn):
        sides([LOST], other, demonstrations="lost")


def test_at_most_so_many_pairs_of_a_demonstration_are_drawn():
    lost = [played(f"l{n}", 0.0, f"a{n}") for n in range(9)]
    found = sides(lost, SOURCES, demonstrations="lost", per_task=3)
    assert len(found) == len(set(found)) == 3
    assert found == sides(lost[::-1], SOURCES, demonstrations="lost", per_task=3)


def test_earlier_lost_episodes_are_rejected_and_never_chosen():
    half = played("half", 0.5, "listen")
    old = PairSources(lost=(played("old", 0.0, "wait"), played("old half", 0.6, "sing")))
    assert sides([WON], old) == [("won", "old")]
    assert sides([WON], old, strategy="all_capped") == [("won", "old half"), ("won", "old")]
    with pytest.raises(NothingToLearn):  # "old half" is better, and of another iteration
        sides([half], PairSources(lost=old.lost[1:]))
    with pytest.raises(NothingToLearn):  # its task is not explored now
        sides([WON], PairSources(lost=(played("old", 0.0, "wait", task_id="u"),)))
    with_both = PairSources(demonstrations=(D,), lost=old.lost[:1])
    assert sides([LOST], with_both, demonstrations="lost") == [("d", "lost"), ("d", "old")]


def test_what_is_remembered_is_lost_and_each_way_once():
    earlier = [
        played("1", 0.0, "wait", iteration=1),
        played("2", 0.0, "wait", iteration=2),
        played("3", 1.0, "take", iteration=2),
        played("4", 0.0, "look", iteration=1),
        trajectory(id="5", iteration=1),
    ]
    assert [one.id for one in lost_before(earlier)] == ["2", "4"]


RUN = ["algorithm=dpo", "demonstrations.tasks=4"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["algorithm=dpo", "pairs.demonstrations=lost"], "no effect without demonstrations.tasks"),
        (["algorithm=kto", "demonstrations.tasks=4", "pairs.demonstrations=lost"], "learns from labels"),
        (["algorithm=kto", "pairs.memory=1"], "pairs.memory has no effect"),
        (["algorithm=grpo", "pairs.memory=1"], "pairs.* has no effect"),
        (["algorithm=bradley_terry", "pairs.memory=1"], "pairs.memory has no effect"),
        (["algorithm=orpo", "demonstrations.tasks=4", "pairs.demonstrations=any"], "needs a reference model"),
        ([*RUN, "pairs.demonstrations=any", "learn.reference=base"], "has the latest policy as reference"),
        ([*RUN, "pairs.demonstrations=any", "start=base"], "has the latest policy as reference"),
        ([*RUN, "pairs.demonstrations=lost", "pairs.memory=1", "iterations=1"], "no effect in one iteration"),
        ([*RUN, "pairs.demonstrations=won"], "pairs.demonstrations"),
        (["algorithm=dpo", "pairs.memory=-1"], "pairs.memory"),
    ],
)
def test_sources_without_effect_are_errors_in_a_line(settings: list[str], told: str):
    with pytest.raises(ConfigError) as caught:
        load(None, settings)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sources_with_an_effect_are_settings_of_a_run_alone():
    for kind in ("lost", "any"):
        assert load(None, [*RUN, f"pairs.demonstrations={kind}"]).pairs.demonstrations == kind
    assert load(None, ["algorithm=dpo", "pairs.memory=2"]).pairs.memory == 2
    with pytest.raises(ConfigError, match="it is for the iterations of a run"):
        load(None, ["algorithm=dpo", "pairs.memory=2"], TrainConfig)
