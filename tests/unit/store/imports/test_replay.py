"""Replay of imported episodes in the environments of this package."""

from typing import Any

import pytest
from support.trajectories import trajectory

from agentgym_envs.core import Observation
from agentgym_envs.episodes import Player, follow
from agentgym_envs.registry import make
from agentgym_envs.tools import texts_with_tools
from agentgym_store.imports.writing.replay import Difference, Replayer
from agentgym_store.records import Trajectory, Turn


def played(env: str, split: str = "train", seed: int = 3, wrong: int = 0) -> Trajectory:
    """The expert's episode of a task, after `wrong` senseless actions."""
    environment, player = make(env), Player()
    task = environment.tasks(split)[0]
    actions = [*["dance"] * wrong, *(environment.expert(task) or [])]
    episode = player.play(environment, task, follow(actions), seed=seed, max_turns=99)
    texts = texts_with_tools([episode.first, *(result.observation for result in episode.results)])
    turns = tuple(
        Turn(action=action, observation=text, reward=result.reward)
        for action, text, result in zip(episode.actions, texts[1:], episode.results, strict=True)
    )
    player.close()
    return trajectory(
        id=f"{env}/0",
        env=env,
        env_version=environment.version,
        data_version=environment.data_version,
        task_id=task.id,
        seed=seed,
        initial_observation=texts[0],
        instruction=task.instruction,
        turns=turns,
    )


def result(episode: Trajectory, **options: Any) -> Any:
    replayer = Replayer(options)
    replayer.check(episode)
    report = replayer.report()
    replayer.close()
    assert report.same + sum(report.different.values()) + sum(report.not_replayed.values()) == 1
    return report


@pytest.mark.parametrize("env", ["guess", "alfworld", "todo", "deliberate"])
def test_an_episode_that_was_played_here_replays_the_same(env: str) -> None:
    assert result(played(env, wrong=1)).same == 1


def changed(episode: Trajectory, number: int, **fields: Any) -> Trajectory:
    turns = list(episode.turns)
    turns[number] = turns[number].model_copy(update=fields)
    return episode.model_copy(update={"turns": tuple(turns)})


GUESS = played("guess", wrong=1)


@pytest.mark.parametrize(
    ("episode", "where"),
    [
        (changed(GUESS, 0, observation="Well done."), "observation of turn 1"),
        (changed(GUESS, -1, reward=0.5), "return of the episode"),
        (GUESS.model_copy(update={"initial_observation": "Another world."}), "opening"),
        (
            GUESS.model_copy(update={"turns": (*GUESS.turns, Turn(action="x", observation="y", reward=0.0))}),
            f"end after turn {len(GUESS.turns)}",
        ),
    ],
)
def test_the_first_difference_is_named(episode: Trajectory, where: str) -> None:
    report = result(episode)
    (difference,) = report.differences
    assert (difference.episode, difference.where) == ("guess/0", where)
    assert report.different == {where.split()[0]: 1}
    assert difference.recorded != difference.replayed


def test_other_versions_of_environment_and_data_are_told_with_a_difference() -> None:
    old = changed(GUESS, 0, observation="Well done.").model_copy(
        update={"env_version": "0.9", "data_version": "builtin:0.9"}
    )
    assert result(old).different == {
        "observation (environment 0.9, here 1.0.0; data builtin:0.9, here builtin:1.0.0)": 1
    }
    foreign = old.model_copy(update={"env_version": "", "data_version": "imported:0123"})
    assert result(foreign).different == {"observation": 1}


def test_texts_are_shown_around_their_first_difference() -> None:
    (difference,) = result(changed(GUESS, 0, observation="Y" * 50 + "!")).differences
    assert difference.recorded.startswith("YYY")
    told = GUESS.model_copy(update={"initial_observation": f"{'Z' * 300}."})
    (difference,) = result(told).differences
    assert len(difference.recorded) <= 123


def test_both_texts_of_a_difference_are_shown() -> None:
    (difference,) = result(changed(GUESS, 0, observation="Well done.")).differences
    assert difference == Difference(
        "guess/0", "observation of turn 1", "Well done.", GUESS.turns[0].observation
    )


def test_an_observation_that_a_foreign_record_lacks_is_not_compared() -> None:
    assert result(changed(GUESS, -1, observation="")).same == 1
    assert result(changed(GUESS, 0, observation="")).different == {"observation": 1}


def test_the_instruction_may_stand_before_the_first_observation() -> None:
    told = GUESS.model_copy(update={"initial_observation": f"Do this.\n\n{GUESS.initial_observation}"})
    assert result(told).same == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"env": "chess"}, "no environment is named 'chess'"),
        ({"task_id": "webshop_6"}, "the task is not one of guess's"),
        ({"episode_id": "e", "seat": 1}, "an episode of several seats"),
    ],
)
def test_what_cannot_be_replayed_is_counted_by_its_reason(changes: dict[str, Any], reason: str) -> None:
    report = result(GUESS.model_copy(update=changes))
    assert report.not_replayed == {reason: 1}
    assert report.differences == ()


def test_options_are_those_of_the_environment() -> None:
    (reason,) = result(GUESS, colour="red").not_replayed
    assert reason.startswith("environment 'guess' cannot be made: ")


def test_an_environment_that_raises_or_is_not_deterministic_is_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from agentgym_envs.guess import Guess

    def broken(*_: Any) -> Observation:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(Guess, "reset", broken)
        assert result(GUESS).not_replayed == {"guess raised RuntimeError": 1}
    monkeypatch.setattr(Guess, "deterministic", False)
    assert result(GUESS).not_replayed == {"guess is not deterministic": 1}
