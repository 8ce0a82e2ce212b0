"""Sequences kept for later iterations: those derived from the episodes, whatever became of a file."""

import shutil
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from support.trajectories import trajectory

import agentevol.loop.stages.data_mixture
import agentevol.loop.state.cache
from agentevol.config.run import RunConfig, load
from agentevol.config.sections.constraints import Constraint
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.files import write_atomically
from agentevol.core.protocols import Checkpoint, EpisodeFacts, TrainingSequence
from agentevol.data.columnar_file import EncodedSequences, read_sequences
from agentevol.data.composition import versions
from agentevol.data.hashes import of_sequences
from agentevol.data.manifests import of_parts
from agentevol.data.replay import Old, replayed
from agentevol.data.selection.filters import ages, fresh
from agentevol.data.training_sequences import imitated
from agentevol.loop.control.controllers import multipliers
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.cache import CacheKeys, SequenceCache
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Turn
from agentgym_store.store import Where

Turns = list[tuple[int, bool, bool]]
"""Of each turn: how old the weights are that sampled it, whether its prompt goes on, whether it is learnt."""


def episode(
    iteration: int, attempt: int, turns: Turns, *, reward: float = 1.0, broken: bool = False, **changes: Any
) -> Trajectory:
    """An episode of the task of an attempt's parity, sampled by versions up to the one before `iteration`."""
    told, prompt = list[Turn](), (1, 2)
    for number, (age, goes_on, learnt) in enumerate(turns):
        said = (10 + attempt, 20 + number)
        sample = Sample(
            text="", prompt_ids=prompt if goes_on else (3, number + 1), token_ids=said,
            logprobs=(-0.5, -0.25 * number), policy_version=max(0, iteration - 1 - age),
            loss_mask=None if learnt else (0, 1),
        )  # fmt: skip
        earned = reward if number == len(turns) - 1 else 0.0
        told.append(Turn(action=f"{attempt} {number}", observation="o", reward=earned, sample=sample))
        prompt = (*sample.prompt_ids, *said, 4)
    plain = trajectory(
        id=f"now/explore/{iteration:04d}/{attempt:03d}",
        run="now",
        iteration=iteration,
        task_id=f"t{attempt % 2}",
        attempt=attempt,
        initial_observation="start",
        turns=tuple(told),
        ending=Failed(failure="worker-lost") if broken else Terminated(),
    )
    return plain.model_copy(update=changes)


def rounds(count: int, each: int = 4) -> list[list[Trajectory]]:
    """Episodes of two turns; of every round the first is two updates older than the others."""
    return [
        [episode(m, n, [(2 if n == 0 else 0, True, True)] * 2, reward=n / each + 0.5) for n in range(each)]
        for m in range(1, count + 1)
    ]


def begun(place: Path, *overrides: str) -> RunFolder:
    base = place / "base"
    base.mkdir(parents=True, exist_ok=True)
    (base / "model.safetensors").write_text("base")
    (base / "tokenizer.json").write_text("{}")
    given = ["name=now", "environment.name=guess", "select.per_task=null", "select.rule=all", *overrides]
    return RunFolder.create(place / "run", load(None, given), Checkpoint(base, 0))


def with_rounds(folder: RunFolder, explored: Sequence[Sequence[Trajectory]]) -> RunFolder:
    for number, batch in enumerate(explored, start=1):
        folder.store.append(batch, commit={"iteration": str(number)})
    return folder


def resumed(folder: RunFolder, config: RunConfig | None = None) -> Stages:
    """The stages of a process that has read nothing of the run yet."""
    folder.config = config or folder.config
    return Stages(
        RunContext.of(
            folder, cast(Any, None), "", folder.checkpoints.accepted(0), Progress(Console(quiet=True))
        )
    )


def selected(folder: RunFolder, iteration: int, run: Stages | None = None) -> list[TrainingSequence]:
    run = run or resumed(folder)
    return run.select(iteration, run.context.episodes.of("explore", iteration))


def derived(folder: RunFolder, iteration: int) -> list[TrainingSequence]:
    """The selection, derived from the episodes: the sequences of this round and of earlier ones."""
    run, config = resumed(folder), folder.config
    of, sources = run.context.episodes.of, run.mixture
    sequences = sources.sequences(iteration, of("explore", iteration))
    old = list[TrainingSequence]()
    for earlier in range(1, iteration):
        current = fresh(of("explore", earlier), config.select.max_lag, iteration - 1)
        old += sources.sequences(earlier, current)
    shown = [t for t in of("demonstrate", 0) if config.demonstrations.tasks]
    old += agentevol.loop.stages.data_mixture.demonstration_sequences(
        shown, folder.checkpoints.accepted(0), config
    )
    if config.select.merge == "cumulative":
        return sequences + old
    seed = config.seed * 1000 + iteration
    return sequences + replayed(
        sequences, [Old("guess", sequence) for sequence in old], "guess", config.replay, seed
    )


def same(one: TrainingSequence, other: TrainingSequence) -> bool:
    """Whether all fields are equal, to the bit and the type."""
    for field in fields(TrainingSequence):
        first, second = getattr(one, field.name), getattr(other, field.name)
        if isinstance(first, np.ndarray):
            if first.dtype != second.dtype or first.tobytes() != second.tobytes():
                return False
        elif (type(first), first) != (type(second), second):
            return False
    return True


def assert_same(found: Sequence[TrainingSequence], expected: Sequence[TrainingSequence]) -> None:
    assert [sequence.trajectory_id for sequence in found] == [sequence.trajectory_id for sequence in expected]
    assert all(map(same, found, expected))


@pytest.fixture(autouse=True)
def expert(monkeypatch: pytest.MonkeyPatch) -> None:
    """Demonstrations are encoded without a tokenizer."""

    def encoded(shown: Sequence[Trajectory], _: Checkpoint, config: RunConfig) -> list[TrainingSequence]:
        sequences = imitated(shown, objective("sft", {}), SelectConfig(turns="all"))
        return [
            replace(sequence, weight=config.demonstrations.weight, policy_version=None, turn=sequence.turn)
            for sequence in sequences
        ]

    monkeypatch.setattr(agentevol.loop.stages.data_mixture, "demonstration_sequences", encoded)


SETTINGS = {
    "agentevol": [],
    "groups": ["algorithm=softmax_bc"],
    "rewards": ["algorithm=weighted_bc"],
    "stale": ["select.max_lag=1"],
    "stale_and_best": ["select.max_lag=2", "select.rule=top_k_ratio", "select.ratio=0.5"],
    "steps": ["select.sequences=per_step", "select.turns=valid"],
    "rejection": ["select.rule=rejection", "seed=3"],
    "demonstrations": ["demonstrations.tasks=2", "demonstrations.weight=0.5"],
    "replay": ["select.merge=replay", "replay.fraction=0.6"],
    "replay_of_all": [
        *("select.merge=replay", "replay.fraction=0.6", "select.max_lag=1"),
        *("demonstrations.tasks=2", "demonstrations.weight=0.5"),
    ],
}

TURN = st.tuples(st.integers(0, 2), st.booleans(), st.booleans())
EPISODE = st.tuples(st.lists(TURN, min_size=1, max_size=4), st.sampled_from([0.0, 0.25, 1.0]), st.booleans())
ROUNDS = st.lists(st.lists(EPISODE, min_size=1, max_size=5), min_size=4, max_size=4)


@pytest.mark.parametrize("overrides", SETTINGS.values(), ids=SETTINGS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(told=ROUNDS)
def test_sequences_through_the_cache_are_those_that_are_derived(
    tmp_path_factory: pytest.TempPathFactory, overrides: list[str], told: Any
):
    explored = [
        [
            episode(m, n, turns, reward=reward, broken=broken and n > 0)
            for n, (turns, reward, broken) in enumerate(one)
        ]
        for m, one in enumerate(told, start=1)
    ]
    folder = with_rounds(begun(tmp_path_factory.mktemp("run"), *overrides), explored)
    shown = [episode(0, n, [(0, True, True)] * 2, purpose="demonstrate", id=f"shown {n}") for n in (8, 9)]
    folder.store.append(shown, commit={"iteration": "0"})
    run = resumed(folder)
    for iteration in (1, 2, 3, 4):
        expected = derived(folder, iteration)
        assert_same(selected(folder, iteration, run), expected)  # in one process
        assert_same(selected(folder, iteration), expected)  # and in one that only has the files
    assert run.context.drafts.of(4).sequences == len(expected)


def test_figures_through_the_cache_are_those_of_the_sequences(tmp_path: Path):
    folder = with_rounds(begun(tmp_path, "select.max_lag=1", "algorithm=weighted_bc"), rounds(4))
    run = resumed(folder)
    for iteration in (1, 2, 3, 4):
        selected(folder, iteration, run)
    draft = run.context.drafts.of(4)
    # Version 3 is the newest. Of round m, version m - 1 sampled three episodes and m - 3 one: all of rounds 1
    # and 2 are stale, and one of round 3.
    assert draft.stale == 4 + 4 + 1
    assert {
        name: draft.data["guess"][name] for name in ("sequences_new", "sequences_earlier", "mean_weight")
    } == {
        "sequences_new": 4.0,
        "sequences_earlier": 3.0,
        # returns 0.5, 0.75, 1, 1.25 and the last three again
        "mean_weight": pytest.approx((3.5 + 3.0) / 7),
    }
    # three new episodes, the old one among them, and three of round 3
    assert draft.selection["policy_version_lag_mean"] == pytest.approx((3 * 0 + 2 + 3 * 1) / 7)
    assert draft.selection["policy_version_lag_max"] == 2.0


DAMAGE = {
    "deleted": lambda data: None,
    "emptied": lambda data: b"",
    "cut in its header": lambda data: data[:40],
    "cut in its sequences": lambda data: data[:-5],
    "of no size": lambda data: (2**60).to_bytes(8, "little") + data[8:],
    "another token": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "another episode": lambda data: data.replace(b"0001/002", b"0001/009"),
    "something else": lambda data: b"\x02\0\0\0\0\0\0\0{}",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_file_that_is_damaged_is_derived_again(tmp_path: Path, damage: Any):
    folder = with_rounds(begun(tmp_path), rounds(3))
    expected = derived(folder, 3)
    run = resumed(folder)
    assert_same(selected(folder, 3, run), expected)
    file = folder.path / "sequences" / "0001.safetensors"
    whole = file.read_bytes()
    for again in (run, resumed(folder)):  # in the same process, and in one that goes on
        damaged = damage(whole)
        file.unlink()
        if damaged is not None:
            assert damaged != whole
            file.write_bytes(damaged)
        assert_same(selected(folder, 3, again), expected)
        assert file.read_bytes() == whole


def test_no_byte_of_a_file_can_change_unnoticed(tmp_path: Path):
    file = tmp_path / "sequences.safetensors"
    explored = rounds(1)[0]
    sequences = imitated(explored, objective("sft", {}), SelectConfig())
    kept = EncodedSequences.of(sequences, versions(explored), ages(explored))
    kept.write(file, "key")
    whole = file.read_bytes()
    assert read_sequences(file, "another key") is None
    accepted = 0
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :])
        found = read_sequences(file, "key")
        if found is not None:  # bytes that mean nothing, as what pads the header
            accepted += 1
            assert_same(found, sequences)
            assert (found.digest, found.turns, found.episodes) == (kept.digest, kept.turns, kept.episodes)
    assert accepted < len(whole) / 50


def test_sequences_of_other_episodes_or_settings_are_not_trusted(tmp_path: Path):
    folder = with_rounds(begun(tmp_path), rounds(3))
    selected(folder, 3)
    # an episode that came to the first round later
    folder.store.append([episode(1, 9, [(0, True, True)])], commit={"late": "1"})
    assert "now/explore/0001/009" in [sequence.trajectory_id for sequence in selected(folder, 3)]
    assert_same(selected(folder, 3), derived(folder, 3))
    # a configuration that was changed by hand
    other = folder.config.model_copy(update={"select": SelectConfig(rule="top_k_ratio", ratio=0.25)})
    assert len(selected(folder, 3, resumed(folder, other))) == 1 + 1 + 1
    assert_same(selected(folder, 3), derived(folder, 3))
    # more iterations are not another configuration
    before = (folder.path / "sequences" / "0001.safetensors").stat()
    selected(folder, 3, resumed(folder, folder.config.model_copy(update={"iterations": 9})))
    assert (folder.path / "sequences" / "0001.safetensors").stat() == before
    # another tokenizer
    (folder.checkpoints.accepted(0).path / "tokenizer.json").write_text('{"other": 1}')
    selected(folder, 3)
    assert (folder.path / "sequences" / "0001.safetensors").stat() != before


def test_sequences_of_episodes_that_the_table_does_not_have_are_not_kept(tmp_path: Path):
    folder = with_rounds(begun(tmp_path), rounds(2))
    run = resumed(folder)
    assert len(run.select(1, run.context.episodes.of("explore", 1)[:1])) == 1
    assert not (folder.path / "sequences").exists()
    assert_same(selected(folder, 2, run), derived(folder, 2))


def test_a_run_that_is_killed_while_it_keeps_sequences_goes_on_to_the_same_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Killed(BaseException):
        """What ends a process here."""

    folder, write = with_rounds(begun(tmp_path), rounds(3)), EncodedSequences.write

    def killed(self: EncodedSequences, file: Path, key: str) -> None:
        if file.name == "0002.safetensors":
            file.with_name(f".{file.name}.1.partial").write_bytes(b"half")
            raise Killed
        write(self, file, key)

    with monkeypatch.context() as patched:
        patched.setattr(EncodedSequences, "write", killed)
        with pytest.raises(Killed):
            selected(folder, 3)
    folder.clear_partial()
    assert_same(selected(folder, 3), derived(folder, 3))
    assert sorted(file.name for file in (folder.path / "sequences").iterdir()) == [
        f"000{number}.safetensors" for number in (1, 2, 3)
    ]


def test_a_run_of_a_version_without_the_cache_goes_on_to_the_same_sequences(tmp_path: Path):
    folder = with_rounds(begun(tmp_path), rounds(4))
    run = resumed(folder)
    for iteration in (1, 2, 3):
        selected(folder, iteration, run)
    kept = selected(folder, 4, run)
    shutil.rmtree(folder.path / "sequences")
    assert_same(selected(folder, 4), kept)


def test_files_beyond_those_that_may_be_mapped_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(agentevol.loop.state.cache, "MAPPED_FILES", 1)
    folder = with_rounds(begun(tmp_path), rounds(4))
    run = resumed(folder)
    for opened in (0, 1, 1):  # derived, then mapped and read
        assert_same(selected(folder, 4, run), derived(folder, 4))
        assert len(run.mixture._cache._opened) == opened


def test_sequences_are_mapped_and_not_copied(tmp_path: Path):
    explored = rounds(1)[0]
    sequences = imitated(explored, objective("sft", {}), SelectConfig())
    cache = SequenceCache(tmp_path, CacheKeys(load(None, []), Checkpoint(tmp_path, 0)))
    assert_same(cache.sequences("0001", "episodes", lambda: EncodedSequences.of(sequences)), sequences)
    kept = cache.sequences("0001", "episodes", lambda: pytest.fail("derived twice"))
    assert kept is cache.sequences("0001", "episodes", lambda: pytest.fail("derived twice"))
    for sequence in kept:
        assert not sequence.token_ids.flags.owndata
        assert not sequence.token_ids.flags.writeable
    assert_same(kept[1:3], sequences[1:3])
    assert same(kept[-1], sequences[-1])
    with pytest.raises(IndexError):
        kept[len(sequences)]


FACTS = EpisodeFacts("g", (1.0,), ("",), (0,), (False,), truncated=False)
OTHERS: dict[str, Any] = {
    "episode": FACTS, "unit": "pair 1", "side": 1, "margin": 0.5, "preference": 0.5, "replayed": True,
    "turn": None, "labels": np.zeros((6, 1), np.float32), "label_samples": np.zeros(6, np.float32),
}  # fmt: skip
"""Values of fields that sequences of imitation do not have."""


def test_every_field_of_a_sequence_is_kept_or_refused():
    (sequence, *_) = imitated(rounds(1)[0], objective("sft", {}), SelectConfig())
    changed: dict[str, Any] = {
        "token_ids": sequence.token_ids + 1, "mask": ~sequence.mask, "rollout_logp": sequence.rollout_logp *
        2, "weight": 0.1, "trajectory_id": "x", "policy_version": None, "environment": "maze", "drift_events":
        7, "temperature": 0.5,
    }  # fmt: skip
    assert changed.keys() | OTHERS.keys() == {field.name for field in fields(TrainingSequence)}
    for name, value in changed.items():
        one = replace(sequence, **{name: value})
        assert same(EncodedSequences.of([sequence, one])[1], one), name
    for name, value in OTHERS.items():
        with pytest.raises(ValueError, match="has fields that no imitated sequence has"):
            EncodedSequences.of([replace(sequence, **{name: value})])


def test_the_hash_of_parts_is_that_of_one_part_where_there_is_one():
    first, second = (of_sequences(imitated(one, objective("sft", {}), SelectConfig())) for one in rounds(2))
    nothing = of_sequences([])
    assert of_parts([]) == of_parts([nothing]) == nothing
    assert of_parts([first]) == of_parts([nothing, first, nothing]) == first
    assert len({of_parts([first, second]), of_parts([second, first]), first, second}) == 4


PRICED = ["algorithm=lagrangian", "constraints.turns.limit=1", "constraints.tokens.limit=2"]


def costly(count: int) -> list[list[Trajectory]]:
    """Rounds of 120 episodes, longer from one to the next."""
    return [
        [episode(m, n, [(0, True, True)] * (1 + (n + m) % (m + 1))) for n in range(120)]
        for m in range(1, count + 1)
    ]


@pytest.mark.parametrize("cost", ["sum", "any"])
@pytest.mark.parametrize("form", ["plain", "pid"])
def test_prices_step_by_step_are_those_of_all_rounds(tmp_path: Path, cost: str, form: str):
    explored = costly(4)
    options = [f"learn.options.cost={cost}", f"constraints.turns.form={form}", "constraints.turns.window=200"]
    folder = with_rounds(begun(tmp_path, *PRICED, *options), explored)
    run, limits = resumed(folder), folder.config.constraints
    for iteration in (1, 2, 3, 4):
        expected = multipliers(limits, explored[: iteration - 1], cost)
        assert run.prices.before(iteration) == expected
        selected(folder, iteration, run)
        assert resumed(folder).prices.before(iteration) == expected
    assert run.prices.before(5) == multipliers(limits, explored, cost)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize(
    "damaged",
    ["", "[]", "{", '{"key": 1, "sha256": "", "multipliers": "{}"}', None],
    ids=["emptied", "a list", "cut", "other", "deleted"],
)
def test_prices_that_are_damaged_are_derived_again(tmp_path: Path, number: int, damaged: str | None):
    explored = costly(3)
    folder = with_rounds(begun(tmp_path, *PRICED), explored)
    expected = resumed(folder).prices.before(4)
    assert expected["turns"].value > 0
    file = folder.path / "prices" / f"{number:04d}.json"
    whole = file.read_text()
    file.unlink()
    if damaged is not None:
        file.write_text(damaged)
    assert resumed(folder).prices.before(4) == expected
    write_atomically(file, whole.replace("0.", "1.").replace("1, ", "2, "))  # well-formed, and not the same
    assert file.read_text() != whole
    assert resumed(folder).prices.before(4) == expected


def test_prices_of_other_episodes_or_limits_are_not_trusted(tmp_path: Path):
    explored = costly(2)
    folder = with_rounds(begun(tmp_path, *PRICED), explored)
    before = resumed(folder).prices.before(3)
    late = [episode(1, n, [(0, True, True)] * 9) for n in range(200, 300)]
    folder.store.append(late, commit={"late": "1"})
    found = resumed(folder).prices.before(3)
    assert found == multipliers(folder.config.constraints, [[*explored[0], *late], explored[1]])
    assert found["turns"].value > before["turns"].value
    limits = {"turns": Constraint(limit=9.0)}
    other = folder.config.model_copy(update={"constraints": limits})
    assert resumed(folder, other).prices.before(3)["turns"].value == 0.0


def test_equal_files_of_the_table_hold_equal_episodes(tmp_path: Path):
    folder = with_rounds(begun(tmp_path), rounds(2))
    first, second, none = folder.store.files(*(Where(purpose="explore", iteration=m) for m in (1, 2, 3)))
    assert (len(first), len(second), none) == (1, 1, [])
    assert first != second
    folder.store.append(rounds(3)[2], commit={"iteration": "3"})
    assert folder.store.files(Where(purpose="explore", iteration=1)) == [first]
    folder.store.append([episode(1, 9, [(0, True, True)])], commit={"late": "1"})
    (more,) = folder.store.files(Where(purpose="explore", iteration=1))
    assert (len(more), set(first) <= set(more)) == (2, True)
