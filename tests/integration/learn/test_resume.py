"""A learner goes on from a saved state only where it would take the very same steps."""

import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Anchor, Checkpoint, EpisodeFacts, LearnerJob, TrainingSequence
from agentevol.learn import learner
from agentevol.learn.learner import GradientLearner
from agentevol.learn.resume import fingerprint

CONFIG = LearnConfig()
WORDS = st.text(max_size=5)
NUMBERS = st.floats(width=32)
SCALARS: dict[str, Any] = {
    "str": WORDS,
    "float": st.floats(allow_nan=False),
    "int": st.integers(-9, 9),
    "bool": st.booleans(),
}
FACTS: dict[str, Any] = {
    "group": WORDS,
    "rewards": st.lists(st.floats(0, 1), max_size=3).map(tuple),
    "anchors": st.lists(WORDS, max_size=3).map(tuple),
    "modes": st.lists(st.integers(-1, 3), max_size=3).map(tuple),
    "invalid": st.lists(st.booleans(), max_size=3).map(tuple),
    "truncated": st.booleans(),
    "costs": st.dictionaries(WORDS, st.floats(0, 5), max_size=2),
    "environment": WORDS,
    "repeated": st.floats(0, 1),
    "answer_tokens": st.lists(st.integers(0, 9), max_size=3).map(tuple),
    "baseline": st.none() | st.floats(0, 1),
}
SEQUENCE: dict[str, Any] = {
    "token_ids": arrays(np.int32, 3, elements=st.integers(0, 9)),
    "mask": arrays(np.bool_, 3),
    "rollout_logp": arrays(np.float32, 3, elements=NUMBERS),
    "weight": st.floats(0, 5),
    "trajectory_id": WORDS,
    "policy_version": st.none() | st.integers(0, 9),
    "turn": st.none() | arrays(np.int32, 3, elements=st.integers(-1, 5)),
    "episode": st.none() | st.builds(EpisodeFacts, **FACTS),
    "unit": WORDS,
    "side": st.sampled_from([-1, 0, 1]),
    "margin": st.floats(0, 1),
    "preference": st.floats(0, 1),
    "labels": st.none() | arrays(np.float32, (3, 1), elements=NUMBERS),
    "replayed": st.booleans(),
    "label_samples": st.none() | arrays(np.float32, 3, elements=st.floats(0, 9, width=32)),
    "environment": WORDS,
    "temperature": st.none() | st.floats(0.1, 2),
    "drift_events": st.integers(0, 9),
}
CALL: dict[str, Any] = {
    "sequences": st.lists(st.builds(TrainingSequence, **SEQUENCE), max_size=2),
    "seed": st.integers(0, 9),
    "multipliers": st.dictionaries(WORDS, st.floats(0, 5), max_size=2),
    "objectives": st.lists(WORDS, max_size=2).map(tuple),
}


def told(value: object) -> str:
    """A value in words in which equal ones are equal and others differ, bit for bit."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, TrainingSequence | EpisodeFacts):
        return str([told(getattr(value, one.name)) for one in fields(value)])
    if isinstance(value, dict):
        return str([(name, told(value[name])) for name in sorted(value)])
    if isinstance(value, list | tuple):
        return str([told(one) for one in value])
    return repr(value)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return checkpoint(tmp_path_factory.mktemp("start"), b"weights")


def checkpoint(folder: Path, weights: bytes, version: int = 0) -> Checkpoint:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return Checkpoint(folder, version)


def test_every_field_of_a_sequence_and_of_its_episode_is_drawn_here():
    assert SEQUENCE.keys() == {one.name for one in fields(TrainingSequence)}
    assert FACTS.keys() == {one.name for one in fields(EpisodeFacts)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.data(), sequence=st.builds(TrainingSequence, **SEQUENCE), facts=st.builds(EpisodeFacts, **FACTS)
)
def test_changing_any_field_of_a_sequence_changes_it(
    data: st.DataObject, sequence: TrainingSequence, facts: EpisodeFacts, start: Checkpoint
):
    sequence = replace(sequence, episode=facts)
    own = seen(start, sequence)
    for name, values in SEQUENCE.items():
        other = replace(sequence, **{name: data.draw(values, label=name)})
        compare(own, seen(start, other))
    for name, values in FACTS.items():
        other = replace(
            sequence, episode=replace(facts, **{name: data.draw(values, label=f"episode.{name}")})
        )
        compare(own, seen(start, other))


def seen(start: Checkpoint, sequence: TrainingSequence) -> tuple[str, str]:
    """The fingerprint of a job with this sequence, and the sequence in words."""
    return fingerprint(CONFIG, start, sequences=[sequence]), told(sequence)


def compare(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (one[0] == other[0]) == (one[1] == other[1])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(one=st.fixed_dictionaries(CALL), other=st.fixed_dictionaries(CALL))
def test_calls_have_equal_hashes_where_they_are_equal(
    one: dict[str, Any], other: dict[str, Any], start: Checkpoint
):
    found = [fingerprint(CONFIG, start, **call) for call in (one, other)]
    assert (found[0] == found[1]) == (told(one) == told(other))


def test_checkpoints_count_by_their_content_and_version(tmp_path: Path):
    one, other = checkpoint(tmp_path / "one", b"1"), checkpoint(tmp_path / "other", b"2")
    later = replace(one, version=1)
    copy = Checkpoint(Path(shutil.copytree(one.path, tmp_path / "copy")), 0)
    wide = checkpoint(tmp_path / "wide", b"1")
    (wide.path / "config.json").write_text('{"rope_theta": 1e6}')
    starts = [fingerprint(LearnConfig(), each) for each in (one, other, later, wide)]
    assert len(set(starts)) == 4
    assert fingerprint(LearnConfig(), copy) == starts[0]
    references = [fingerprint(LearnConfig(), one, reference=each) for each in (None, one, other)]
    assert len(set(references)) == 3


def test_the_learner_names_everything_that_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is left out here would be learnt from a state of other data."""
    named: dict[str, object] = {}

    class Enough(Exception):
        pass

    def note(config: LearnConfig, start: Checkpoint, **inputs: object) -> str:
        named.update(inputs, config=config, start=start)
        raise Enough

    monkeypatch.setattr(learner, "fingerprint", note)
    monkeypatch.setattr(learner, "prepare", lambda *_: Prepared())
    for name in ("freeze", "hold", "divide"):
        monkeypatch.setattr(learner, name, lambda *_: {})
    start, reference, anchor = (checkpoint(tmp_path / name, b"") for name in ("start", "reference", "anchor"))
    given = {"reference": reference, "multipliers": {"turns": 1.0}, "objectives": ("safety",)}
    with pytest.raises(Enough):
        GradientLearner(LearnConfig(save_every=1)).learn(
            LearnerJob(start, ["a sequence"], tmp_path / "out", 7, anchor=Anchor(anchor, ("held",)), **given)  # type: ignore[arg-type]
        )
    assert named.pop("config") == LearnConfig(save_every=1)
    assert named == given | {
        "start": start, "sequences": ("a sequence, fitted",), "seed": 7, "anchor": (anchor, ("held",))
    }  # fmt: skip


class Prepared:
    class fitting:  # noqa: N801 - as the attribute is called
        sequences = ("a sequence, fitted",)
