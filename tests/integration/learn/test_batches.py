import numpy as np
import pytest

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Message, TrainingSequence
from agentevol.learn.batches.packing import demonstration, episode_sequences, first_fit, packed
from agentgym_envs.formats import FORMATS, Plain
from agentgym_store.records import LEARNT, MESSAGE, Failed, Sample, Terminated, Trajectory, Turn


def sample(prompt_ids: tuple[int, ...], token_ids: tuple[int, ...], logprobs: tuple[float, ...]) -> Sample:
    return Sample(text="", prompt_ids=prompt_ids, token_ids=token_ids, logprobs=logprobs, policy_version=0)


def episode(
    *samples: Sample | None, ending: object = Terminated(), actions: tuple[str, ...] = ()
) -> Trajectory:
    names = actions or ("go",) * len(samples)
    turns = [
        Turn(action=name, observation=f"after {name}", reward=0.0, sample=said)
        for name, said in zip(names, samples, strict=True)
    ]
    return Trajectory.model_validate(
        {
            "id": "e1", "run": "r", "iteration": 1, "purpose": "explore", "env": "x", "env_version": "1",
            "data_version": "1", "task_id": "t", "split": "train", "instruction": "", "seed": 0, "attempt": 0,
            "policy": "p", "initial_observation": "start", "turns": turns, "ending": ending,
            "started_at": "2026-01-01T00:00:00Z", "wall_s": 0.0,
        }
    )  # fmt: skip


def sequence(length: int, weight: float = 1.0, trained: int = 1, name: str = "sequence") -> TrainingSequence:
    mask = np.zeros(length, dtype=np.bool_)
    mask[length - trained :] = True
    return TrainingSequence(
        np.arange(length, dtype=np.int32), mask, np.full(length, np.nan, np.float32), weight, name
    )


JOINED = (sample((5, 6, 7), (8, 9), (-0.5, -1.0)), sample((5, 6, 7, 8, 9, 3, 4), (8, 2), (-0.25, -2.0)))


def test_turns_that_extend_each_other_become_one_sequence_masked_where_sampled():
    (joined,) = episode_sequences(episode(*JOINED), weight=0.5)
    assert joined.token_ids.tolist() == [5, 6, 7, 8, 9, 3, 4, 8, 2]
    assert joined.mask.tolist() == [False, False, False, True, True, False, False, True, True]
    assert joined.rollout_logp[joined.mask].tolist() == [-0.5, -1.0, -0.25, -2.0]
    assert np.isnan(joined.rollout_logp[~joined.mask]).all()
    assert (joined.weight, joined.trajectory_id, joined.policy_version) == (0.5, "e1", 0)


def test_turns_that_are_not_to_be_learnt_stay_in_the_context():
    (joined,) = episode_sequences(episode(*JOINED), weight=1.0, learnt=[False, True])
    assert joined.token_ids.tolist() == [5, 6, 7, 8, 9, 3, 4, 8, 2]
    assert joined.mask.tolist() == [False] * 7 + [True, True]
    assert episode_sequences(episode(*JOINED), weight=1.0, learnt=[False, False]) == []


def test_a_sequence_of_several_versions_has_none():
    later = JOINED[1].model_copy(update={"policy_version": 1})
    (joined,) = episode_sequences(episode(JOINED[0], later), weight=1.0)
    assert joined.policy_version is None


def test_a_prompt_that_rewrites_history_begins_a_new_sequence():
    rewritten = sample((5, 6, 7, 8, 1, 3, 4), (8, 2), (-0.25, -2.0))  # 9 became 1
    first, second = episode_sequences(episode(JOINED[0], rewritten), weight=1.0)
    assert first.token_ids.tolist() == [5, 6, 7, 8, 9]
    assert first.mask.tolist() == [False, False, False, True, True]
    assert second.token_ids.tolist() == [5, 6, 7, 8, 1, 3, 4, 8, 2]
    assert second.mask.tolist() == [False] * 7 + [True, True]


def test_a_prompt_shorter_than_what_was_said_begins_a_new_sequence():
    first, second = episode_sequences(episode(JOINED[0], sample((5, 6, 7, 8), (9,), (-1.0,))), weight=1.0)
    assert first.token_ids.tolist() == [5, 6, 7, 8, 9]
    assert second.token_ids.tolist() == [5, 6, 7, 8, 9]
    assert second.mask.tolist() == [False] * 4 + [True]


# turn 1 extends turn 0, turn 2 was sampled after a template had rewritten turn 0
DRIFTED = (*JOINED, sample((5, 6, 7, 1, 3, 4, 8, 2, 3), (8,), (-1.0,)))


def shape(sequences: list[TrainingSequence]) -> list[tuple[list[int], list[int]]]:
    """Of each sequence its token ids, and those of them that are learnt."""
    return [
        (sequence.token_ids.tolist(), sequence.token_ids[sequence.mask].tolist()) for sequence in sequences
    ]


def test_a_sequence_for_every_turn_holds_all_that_the_engine_read_and_learns_one_turn():
    sequences = episode_sequences(episode(*DRIFTED), 1.0, kind="per_step")
    assert shape(sequences) == [
        ([5, 6, 7, 8, 9], [8, 9]),
        ([5, 6, 7, 8, 9, 3, 4, 8, 2], [8, 2]),
        ([5, 6, 7, 1, 3, 4, 8, 2, 3, 8], [8]),
    ]
    assert [sequence.turn[sequence.mask].tolist() for sequence in sequences] == [[0, 0], [1, 1], [2]]
    # turns that are not to be learnt are no sequences
    assert (
        shape(episode_sequences(episode(*DRIFTED), 1.0, [False, True, False], "per_step"))
        == shape(sequences)[1:2]
    )


def test_a_prompt_that_does_not_extend_what_came_before_is_counted_or_refused():
    sequences = episode_sequences(episode(*DRIFTED), 1.0)
    assert shape(sequences) == [
        ([5, 6, 7, 8, 9, 3, 4, 8, 2], [8, 9, 8, 2]),
        ([5, 6, 7, 1, 3, 4, 8, 2, 3, 8], [8]),
    ]
    assert [sequence.drift_events for sequence in sequences] == [1, 1]  # of the episode, not of the sequence
    assert [
        sequence.drift_events for sequence in episode_sequences(episode(*DRIFTED), 1.0, kind="per_step")
    ] == [1, 1, 1]
    assert [
        sequence.drift_events for sequence in episode_sequences(episode(*JOINED), 1.0, kind="per_step")
    ] == [0, 0]
    assert shape(episode_sequences(episode(*JOINED), 1.0, kind="append_only")) == shape(
        episode_sequences(episode(*JOINED), 1.0)
    )
    with pytest.raises(ConfigError, match=r"episode e1: the prompt of turn 2 does not extend.*'fork'"):
        episode_sequences(episode(*DRIFTED), 1.0, kind="append_only")


def masked(said: Sample, *bits: int) -> Sample:
    return said.model_copy(update={"loss_mask": bits})


def test_tokens_that_were_forced_are_context():
    (sequence,) = episode_sequences(episode(masked(JOINED[0], 0, 1), JOINED[1]), 1.0)
    assert shape([sequence]) == [([5, 6, 7, 8, 9, 3, 4, 8, 2], [9, 8, 2])]
    assert sequence.turn.tolist() == [-1, -1, -1, -1, 0, -1, -1, 1, 1]
    assert np.isnan(sequence.rollout_logp[3])
    # a turn that is not to be learnt stays so whatever its mask allows
    (sequence,) = episode_sequences(episode(masked(JOINED[0], 1, 1), JOINED[1]), 1.0, [False, True])
    assert sequence.mask.tolist() == [False] * 7 + [True, True]


def test_a_sequence_of_which_nothing_may_be_learnt_is_there_to_be_counted():
    sequences = episode_sequences(episode(masked(JOINED[0], 0, 0), JOINED[1]), 1.0, kind="per_step")
    assert [int(sequence.mask.sum()) for sequence in sequences] == [0, 2]


def test_sequences_know_their_environment():
    assert [sequence.environment for sequence in episode_sequences(episode(*JOINED), 1.0)] == ["x"]
    assert demonstration(episode(None), Letters(), 1.0).environment == "x"


@pytest.mark.parametrize(
    ("trajectory", "reason"),
    [
        (episode(JOINED[0], None), "no sample in turn 1"),
        (episode(*JOINED, ending=Failed(failure="worker-lost")), "failed"),
        (episode(sample((), (8,), (-1.0,))), "empty prompt"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(trajectory: Trajectory, reason: str):
    with pytest.raises(ConfigError, match=reason):
        episode_sequences(trajectory, weight=1.0)


def test_an_episode_without_turns_has_no_sequences():
    assert episode_sequences(episode(), weight=1.0) == []


class Letters:
    """One token per letter; 1 ends an action, 2 begins one."""

    def prompt(self, messages: list[Message]) -> list[int]:
        return [ord(letter) for message in messages for letter in message.content] + [2]

    def extend(self, previous_ids: list[int], observation: str) -> list[int]:
        assert previous_ids[-1] == 1  # the action ended
        return [*map(ord, observation), 2]

    def action_ids(self, text: str) -> list[int]:
        return [*map(ord, text), 1]


def test_a_demonstration_learns_actions_with_their_end_and_nothing_else():
    shown = demonstration(episode(None, None, actions=("a", "b")), Letters(), weight=2.0)
    expected = [*map(ord, "start"), 2, ord("a"), 1, *map(ord, "after a"), 2, ord("b"), 1]
    assert shown.token_ids.tolist() == expected
    assert [expected[index] for index in shown.mask.nonzero()[0]] == [ord("a"), 1, ord("b"), 1]
    assert np.isnan(shown.rollout_logp).all()  # no engine sampled it
    assert shown.weight == 2.0


class Shouting(Plain):
    def instruction(self, environment_name: str) -> str | None:
        return environment_name.upper()

    def render(self, action: str) -> str:
        return action.upper()


def test_a_demonstration_is_written_in_its_action_format():
    shown = demonstration(episode(None), Letters(), 1.0, Shouting())
    assert shown.token_ids.tolist() == [*map(ord, "Xstart"), 2, *map(ord, "GO"), 1]


def test_a_recorded_message_is_learnt_as_it_was_written_and_a_marked_one_is_context():
    said = "Thought: hm\n\nAction: a"
    first, second = episode(None, None, actions=("a", "b")).turns
    turns = (
        first.model_copy(update={"info": {MESSAGE: said}}),
        second.model_copy(update={"info": {LEARNT: False}}),
    )
    shown = episode(None, None, actions=("a", "b")).model_copy(update={"turns": turns})
    form = FORMATS["react"]
    row = demonstration(shown, Letters(), 1.0, form)
    text = "".join(map(chr, row.token_ids[row.token_ids > 2]))
    assert text == f"{form.instruction('x')}start{said}after a{form.render('b')}"
    assert "".join(map(chr, row.token_ids[row.mask])) == f"{said}\x01"
    with pytest.raises(ConfigError, match="message of turn 0 is not in the action format 'plain'"):
        demonstration(shown, Letters(), 1.0)


@pytest.mark.parametrize("trajectory", [episode(), episode(None, ending=Failed(failure="internal"))])
def test_an_episode_that_shows_nothing_is_no_demonstration(trajectory: Trajectory):
    with pytest.raises(ConfigError, match="demonstrates nothing"):
        demonstration(trajectory, Letters(), weight=1.0)


def test_packed_sequences_lie_end_to_end_with_positions_of_their_own():
    batch = packed([sequence(4), sequence(2), sequence(3)], [2, 1])
    assert batch.token_ids.tolist() == [0, 1, 2, 0, 1]
    assert batch.position_ids.tolist() == [0, 1, 2, 0, 1]
    assert batch.mask.tolist() == [False, False, True, False, True]
    assert batch.cu_seqlens.tolist() == [0, 3, 5]
    assert (batch.sequences, batch.lengths) == ((2, 1), (3, 2))


def test_a_sequence_takes_the_first_batch_with_room():
    lengths = np.array([6, 5, 4, 5, 1])
    assert first_fit(lengths, np.arange(5), max_tokens=10) == [[0, 2], [1, 3], [4]]
    assert first_fit(lengths, np.array([4, 3, 2, 1, 0]), max_tokens=10) == [[4, 3, 2], [1], [0]]


def test_a_sequence_longer_than_a_batch_is_an_error():
    with pytest.raises(ConfigError, match="11 tokens does not fit"):
        first_fit(np.array([11]), np.array([0]), max_tokens=10)
