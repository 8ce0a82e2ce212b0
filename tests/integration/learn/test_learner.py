import json
from dataclasses import replace
from math import isnan, log
from pathlib import Path

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2, write_model

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.learn.batches.batch_plan import learning_rate_factor, plan
from agentevol.learn.batches.packing import packed
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.log_probabilities import score
from agentevol.learn.network.network import Network, Reader
from agentevol.learn.optimisers import optimisers
from agentevol.models.causal_lm import load_model
from agentevol.models.checkpoints import read_lineage
from agentevol.models.lora import adapted
from agentevol.models.lora_config import LoraConfig

VOCABULARY = 12
FAST = LearnConfig(learning_rate=1e-2, batch_tokens=400, micro_batch_tokens=200, device="cpu", threads=1)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_model(
        tmp_path_factory.mktemp("learner"), qwen2(VOCABULARY, layers=2, hidden=32, intermediate=64), version=4
    )


def copies(count: int, seed: int = 0, weight: float = 1.0) -> list[TrainingSequence]:
    """Three letters, a separator, the same three letters: the second half is learnt."""
    random = np.random.default_rng(seed)
    mask = np.array([False] * 4 + [True] * 3)
    sequences = []
    for number in range(count):
        letters = random.integers(0, VOCABULARY - 1, 3)
        token_ids = np.array([*letters, VOCABULARY - 1, *letters], dtype=np.int32)
        sequences.append(
            TrainingSequence(token_ids, mask, np.full(7, np.nan, np.float32), weight, f"copy-{number}")
        )
    return sequences


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_model(path, PACKED_ATTENTION).state_dict()


def difference(one: Path, other: Path) -> float:
    ours, theirs = weights(one), weights(other)
    return max((ours[name] - theirs[name]).abs().max().item() for name in ours)


def mean_nll(path: Path, sequences: list[TrainingSequence]) -> float:
    with torch.no_grad():
        return (
            -score(load_model(path, PACKED_ATTENTION), packed(sequences, range(len(sequences))))
            .logp_N.mean()
            .item()
        )


def test_it_learns_to_copy_and_reports_what_it_did(start: Checkpoint, tmp_path: Path):
    seen: list[tuple[int, int, float]] = []
    learner = GradientLearner(FAST.model_copy(update={"epochs": 8}), lambda *step: seen.append(step))
    report = learner.learn(LearnerJob(start, copies(600), tmp_path / "new", seed=0, table_version=9))
    figures = report.metrics
    assert report.checkpoint == Checkpoint(tmp_path / "new", 5)
    assert figures["loss_first"] == pytest.approx(log(VOCABULARY), abs=0.3)  # nearly uniform at the start
    assert mean_nll(tmp_path / "new", copies(50, seed=1)) < 0.2  # unseen letters
    assert figures["ppl"] < 1.3
    assert figures["sequences"] == 600
    assert figures["tokens_trained"] == 600 * 8 * 3
    assert figures["mask_fraction"] == pytest.approx(3 / 7)
    assert figures["effective_sample_size"] == pytest.approx(600)
    assert figures["steps"] == 88  # 57 sequences of 7 tokens fit into 400, so 11 batches in each of 8 epochs
    assert [step for step, _, _ in seen] == list(range(1, 89))
    assert seen[-1][1:] == (88, figures["loss_last"])
    lineage = read_lineage(tmp_path / "new")
    assert lineage is not None
    assert (lineage.version, lineage.parent_version, lineage.table_version) == (5, 4, 9)
    assert lineage.metrics["logp_gap"] is None  # demonstrations: there is no engine to agree with
    assert (tmp_path / "new" / "tokenizer.json").exists()
    origins = [json.loads(line) for line in (tmp_path / "new" / "sequences.jsonl").read_text().splitlines()]
    assert origins[0] == {"episode": "copy-0", "tokens": 3, "weight": 1.0}
    assert len(origins) == 600


def test_shuffled_answers_teach_nothing(start: Checkpoint, tmp_path: Path):
    random = np.random.default_rng(3)
    shuffled = []
    for sequence in copies(600):
        token_ids = sequence.token_ids.copy()
        token_ids[4:] = random.integers(0, VOCABULARY - 1, 3)
        shuffled.append(
            TrainingSequence(token_ids, sequence.mask, sequence.rollout_logp, 1.0, sequence.trajectory_id)
        )
    GradientLearner(FAST.model_copy(update={"epochs": 2})).learn(
        LearnerJob(start, shuffled, tmp_path / "new", seed=0)
    )
    assert mean_nll(tmp_path / "new", copies(50, seed=1)) > 2.0


def test_equal_seeds_give_equal_weights_and_others_do_not(start: Checkpoint, tmp_path: Path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        GradientLearner(FAST).learn(LearnerJob(start, copies(120), tmp_path / name, seed))
    assert difference(tmp_path / "a", tmp_path / "b") == 0.0
    assert difference(tmp_path / "a", tmp_path / "c") > 1e-4


def test_the_size_of_micro_batches_changes_rounding_only(start: Checkpoint, tmp_path: Path):
    sequences = [*copies(60, weight=2.0), *copies(60, seed=1)]
    for name, micro, batch in (("whole", 400, 400), ("tiny", 8, 400), ("other", 400, 200)):
        sizes = {"micro_batch_tokens": micro, "batch_tokens": batch, "learning_rate": 1e-3}
        GradientLearner(FAST.model_copy(update=sizes)).learn(LearnerJob(start, sequences, tmp_path / name, 0))
    assert difference(tmp_path / "whole", tmp_path / "tiny") < 1e-4
    assert difference(tmp_path / "whole", tmp_path / "other") > 1e-3  # optimiser batches do matter


def test_a_duplicated_data_set_has_the_same_loss(start: Checkpoint, tmp_path: Path):
    config = FAST.model_copy(update={"batch_tokens": 10_000})
    once = GradientLearner(config).learn(LearnerJob(start, copies(20), tmp_path / "once", 0)).metrics
    twice = GradientLearner(config).learn(LearnerJob(start, copies(20) * 2, tmp_path / "twice", 0)).metrics
    assert once["loss_first"] == pytest.approx(twice["loss_first"], abs=1e-5)


def test_weights_decide_what_is_learnt(start: Checkpoint, tmp_path: Path):
    good, bad = copies(100), copies(100, seed=7)
    for sequence in bad:
        sequence.token_ids[4:] = 0
    heavy = [
        *copies(100, weight=1.0),
        *(TrainingSequence(r.token_ids, r.mask, r.rollout_logp, 0.0, "") for r in bad),
    ]
    report = GradientLearner(FAST).learn(LearnerJob(start, heavy, tmp_path / "weighted", 0))
    GradientLearner(FAST).learn(LearnerJob(start, good, tmp_path / "good", 0))
    assert report.metrics["sequences_dropped_weightless"] == 100
    assert difference(tmp_path / "weighted", tmp_path / "good") == 0.0


def test_the_gap_is_zero_for_the_models_own_log_probabilities_and_not_otherwise(
    start: Checkpoint, tmp_path: Path
):
    sequences = [replace(sequence, policy_version=start.version) for sequence in copies(30)]
    with torch.no_grad():
        own = (
            score(load_model(start.path, PACKED_ATTENTION), packed(sequences, range(30)))
            .logp_N.reshape(30, 3)
            .numpy()
        )
    for sequence, logp in zip(sequences, own, strict=True):
        sequence.rollout_logp[sequence.mask] = logp
    same = (
        GradientLearner(FAST)
        .learn(LearnerJob(start, [*copies(5, 9), *sequences], tmp_path / "same", 0))
        .metrics
    )
    assert same["logp_gap"] == pytest.approx(0.0, abs=1e-5)
    assert same["logp_gap_tokens"] == 30 * 3
    for sequence in sequences:
        sequence.rollout_logp[sequence.mask] -= 0.5
    lenient = GradientLearner(FAST.model_copy(update={"max_logp_gap": 0.6}))
    shifted = lenient.learn(LearnerJob(start, [*copies(5, 9), *sequences], tmp_path / "shifted", 0)).metrics
    assert shifted["logp_gap"] == pytest.approx(0.5, abs=1e-5)
    assert isnan(
        GradientLearner(FAST).learn(LearnerJob(start, copies(5), tmp_path / "shown", 0)).metrics["logp_gap"]
    )
    # what other weights sampled says nothing about whether engine and learner agree
    older = [replace(sequence, policy_version=start.version - 1) for sequence in sequences]
    offline = GradientLearner(FAST).learn(LearnerJob(start, older, tmp_path / "older", 0)).metrics
    assert isnan(offline["logp_gap"])
    assert offline["logp_gap_tokens"] == 0


def sampled_by(checkpoint: Checkpoint, count: int = 5) -> list[TrainingSequence]:
    """Sequences with the log-probabilities of these weights."""
    sequences = [replace(sequence, policy_version=checkpoint.version) for sequence in copies(count)]
    with torch.no_grad():
        own = score(load_model(checkpoint.path, PACKED_ATTENTION), packed(sequences, range(count))).logp_N
    for sequence, logp in zip(sequences, own.reshape(count, 3).numpy(), strict=True):
        sequence.rollout_logp[sequence.mask] = logp
    return sequences


def test_sequences_are_compared_by_the_weights_that_sampled_them_wherever_learning_begins(
    start: Checkpoint, tmp_path: Path
):
    """As from the second iteration on with `start = "base"`."""
    later = GradientLearner(FAST).learn(LearnerJob(start, copies(9), tmp_path / "later", 0)).checkpoint
    sequences = sampled_by(later)
    found = (
        GradientLearner(FAST)
        .learn(LearnerJob(start, sequences, tmp_path / "sound", 0, sampler=later))
        .metrics
    )
    assert found["logp_gap"] == pytest.approx(0.0, abs=1e-5)
    assert found["logp_gap_tokens"] == 5 * 3
    for sequence in sequences:
        sequence.rollout_logp[sequence.mask] -= 0.5
    with pytest.raises(RunStopped, match=r"of the same 15 tokens differ by 0.5 on average"):
        GradientLearner(FAST).learn(LearnerJob(start, sequences, tmp_path / "shifted", 0, sampler=later))


def test_a_log_probability_that_is_no_number_stops_the_run(start: Checkpoint, tmp_path: Path):
    sequences = sampled_by(start)
    sequences[2].rollout_logp[sequences[2].mask] = np.nan
    with pytest.raises(RunStopped, match=r"of the same 15 tokens differ by nan on average"):
        GradientLearner(FAST).learn(LearnerJob(start, sequences, tmp_path / "nan", 0))


def test_a_comparison_of_nothing_stops_the_run(start: Checkpoint, tmp_path: Path):
    others = [replace(sequence, policy_version=7) for sequence in sampled_by(start)]
    with pytest.raises(RunStopped, match="engine and learner could not be compared"):
        GradientLearner(FAST).learn(LearnerJob(start, others, tmp_path / "none", 0, sampler=start))


def test_sequences_of_another_chat_template_than_was_sampled_with_are_caught(
    start: Checkpoint, tmp_path: Path
):
    sequences = [replace(sequence, policy_version=start.version) for sequence in copies(30)]
    with torch.no_grad():
        own = score(load_model(start.path, PACKED_ATTENTION), packed(sequences, range(30))).logp_N.reshape(
            30, 3
        )
    for sequence, logp in zip(sequences, own.numpy(), strict=True):
        sequence.rollout_logp[sequence.mask] = logp
    GradientLearner(FAST).learn(LearnerJob(start, sequences, tmp_path / "same", 0))
    for sequence in sequences:
        sequence.token_ids[3] = 0  # another separator between what is read and what is said
    with pytest.raises(RunStopped, match="engine and learner disagree"):
        GradientLearner(FAST).learn(LearnerJob(start, sequences, tmp_path / "corrupted", 0))
    assert not (tmp_path / "corrupted").exists()


@pytest.mark.parametrize("dtype", ["float32", "bf16"])  # the start's weights are float32: bf16 rounds them
def test_adapters_are_merged_into_an_ordinary_checkpoint(start: Checkpoint, tmp_path: Path, dtype: str):
    lora = LoraConfig(rank=4, alpha=8, targets=("q_proj", "v_proj"))
    config = FAST.model_copy(update={"lora": lora, "epochs": 3, "dtype": dtype})
    report = GradientLearner(config).learn(LearnerJob(start, copies(200), tmp_path / "new", 0))
    before, after = weights(start.path), weights(tmp_path / "new")
    assert before.keys() == after.keys()
    changed = {name.split(".")[-2] for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"q_proj", "v_proj"}
    delta = after["model.layers.0.self_attn.q_proj.weight"] - before["model.layers.0.self_attn.q_proj.weight"]
    assert int(torch.linalg.matrix_rank(delta, rtol=1e-4)) <= 4
    assert report.metrics["loss_last"] < report.metrics["loss_first"]
    assert mean_nll(tmp_path / "new", copies(200)) < mean_nll(start.path, copies(200))


def test_adapters_are_float32_on_weights_in_half_precision(start: Checkpoint):
    model = load_model(start.path, PACKED_ATTENTION, torch.bfloat16)
    adapters = adapted(model, LoraConfig(rank=4, targets=("q_proj",)))
    network = Network(Reader(model), "policy", torch.device("cpu"), half=True, adapters=adapters)
    frozen = {parameter.dtype for parameter in model.parameters() if not parameter.requires_grad}
    assert ({p.dtype for p in network.parameters()}, frozen) == ({torch.float32}, {torch.bfloat16})
    (adamw,) = optimisers(network, FAST.model_copy(update={"learning_rate": 1e-4}))
    before = [parameter.detach().clone() for parameter in network.parameters()]
    for _ in range(2):  # in the first, what goes into a query is multiplied by zeros that come out of it
        (-network.read(packed(copies(4), range(4))).columns["logp"].sum()).backward()
        adamw.step()
    assert {s.dtype for state in adamw.state.values() for s in state.values()} == {torch.float32}
    moved = [(p - b).abs() for p, b in zip(network.parameters(), before, strict=True)]
    assert min(step.max().item() for step in moved) > 0
    lost = [p.bfloat16() == b.bfloat16() for p, b in zip(network.parameters(), before, strict=True)]
    assert lost[0].float().mean().item() > 0.5  # a step of 1e-4 on 0.1: bf16 would have stayed where it was


@pytest.mark.parametrize(
    "change",
    [{"dtype": "bf16"}, {"gradient_checkpointing": True}, {"options": {"dft": True}}, {"optimiser": "muon"}],
)
def test_other_ways_to_train_learn_too(start: Checkpoint, tmp_path: Path, change: dict):
    GradientLearner(FAST.model_copy(update=change)).learn(LearnerJob(start, copies(300), tmp_path / "new", 0))
    assert mean_nll(tmp_path / "new", copies(50, seed=1)) < 2.35  # ln 12 = 2.48 at the start


def test_muon_takes_the_inner_matrices_and_adamw_the_rest(start: Checkpoint):
    model = load_model(start.path, PACKED_ATTENTION)
    network = Network(Reader(model), "policy", torch.device("cpu"))
    muon, adamw = (
        [parameter for group in optimiser.param_groups for parameter in group["params"]]
        for optimiser in optimisers(network, FAST.model_copy(update={"optimiser": "muon"}))
    )
    assert len(muon) == 2 * 7  # queries, keys, values, output, gate, up, down of two layers
    assert {id(p) for p in muon} | {id(p) for p in adamw} == {id(p) for p in model.parameters()}
    assert len(muon) + len(adamw) == len(list(model.parameters()))


def test_gradient_checkpointing_changes_nothing(start: Checkpoint, tmp_path: Path):
    for name, on in (("on", True), ("off", False)):
        config = FAST.model_copy(update={"gradient_checkpointing": on})
        GradientLearner(config).learn(LearnerJob(start, copies(60), tmp_path / name, 0))
    assert difference(tmp_path / "on", tmp_path / "off") < 1e-6


def test_weights_can_be_saved_in_half_precision(start: Checkpoint, tmp_path: Path):
    GradientLearner(FAST.model_copy(update={"save_dtype": "bf16"})).learn(
        LearnerJob(start, copies(10), tmp_path / "half", 0)
    )
    GradientLearner(FAST).learn(LearnerJob(start, copies(10), tmp_path / "full", 0))
    half, full = ((tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "full"))
    assert half < 0.6 * full


def poisoned(start: Checkpoint, folder: Path) -> Checkpoint:
    model = load_model(start.path, PACKED_ATTENTION)
    with torch.no_grad():
        model.lm_head.weight[0, 0] = float("nan")
    model.save_pretrained(folder)
    return Checkpoint(folder, 0)


def test_a_loss_that_is_not_a_number_stops_before_anything_is_saved(
    start: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agentevol.learn.training_state.check_packing", lambda _: None)
    with pytest.raises(RunStopped, match=r"diverged in step 1 of \d+: loss nan"):
        GradientLearner(FAST).learn(
            LearnerJob(poisoned(start, tmp_path / "bad"), copies(20), tmp_path / "new", 0)
        )
    assert not (tmp_path / "new").exists()


def test_a_start_that_is_not_finite_is_refused(start: Checkpoint, tmp_path: Path):
    with pytest.raises(ConfigError, match="not finite"):
        GradientLearner(FAST).learn(
            LearnerJob(poisoned(start, tmp_path / "bad"), copies(20), tmp_path / "new", 0)
        )


def test_nothing_to_learn_from_says_why(start: Checkpoint, tmp_path: Path):
    for sequences, message in (([], "from 0 sequences"), (copies(2, weight=0.0), "2 of weight 0")):
        with pytest.raises(NothingToLearn, match=message):
            GradientLearner(FAST).learn(LearnerJob(start, sequences, tmp_path / "new", 0))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "sequences", "message"),
    [
        ({}, copies(2, weight=-1.0), "weight -1.0"),
        ({"micro_batch_tokens": 6, "overflow": "error"}, copies(2), "7 tokens, more than 6"),
        ({"device": "no-such-device"}, copies(2), "no device"),
        ({"lora": LoraConfig(targets=("no_such_module",))}, copies(2), "lora.targets"),
    ],
)
def test_unusable_input_is_refused(
    start: Checkpoint, tmp_path: Path, change: dict, sequences: list[TrainingSequence], message: str
):
    with pytest.raises(ConfigError, match=message):
        GradientLearner(FAST.model_copy(update=change)).learn(
            LearnerJob(start, sequences, tmp_path / "new", 0)
        )


def test_token_ids_of_another_tokenizer_are_refused(start: Checkpoint, tmp_path: Path):
    sequences = copies(2)
    sequences[1].token_ids[0] = VOCABULARY
    with pytest.raises(ConfigError, match="copy-1 has token ids outside"):
        GradientLearner(FAST).learn(LearnerJob(start, sequences, tmp_path / "new", 0))


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_learner_that_is_killed_goes_on_bit_for_bit(start: Checkpoint, tmp_path: Path, optimiser: str):
    config = FAST.model_copy(update={"optimiser": optimiser, "epochs": 2})
    calm = GradientLearner(config).learn(LearnerJob(start, copies(300), tmp_path / "calm", seed=0))
    careful = config.model_copy(update={"save_every": 4})
    steps: list[int] = []

    def die(step: int, _steps: int, _loss: float) -> None:
        if step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        GradientLearner(careful, die).learn(LearnerJob(start, copies(300), tmp_path / "killed", seed=0))
    learner = GradientLearner(careful, lambda step, *_: steps.append(step))
    killed = learner.learn(LearnerJob(start, copies(300), tmp_path / "killed", seed=0))
    assert steps[0] == 5  # the state after step 4
    assert difference(tmp_path / "calm", tmp_path / "killed") == 0.0
    assert killed.metrics["loss_mean"] == calm.metrics["loss_mean"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calm", "killed"]


def test_a_state_of_other_data_or_a_torn_one_is_not_taken_up(start: Checkpoint, tmp_path: Path):
    config = FAST.model_copy(update={"save_every": 1})

    def die(step: int, _steps: int, _loss: float) -> None:
        if step == 2:
            raise KeyboardInterrupt

    for tear in (False, True):
        with pytest.raises(KeyboardInterrupt):
            GradientLearner(config, die).learn(
                LearnerJob(start, copies(200, seed=9 - tear), tmp_path / "new", seed=0)
            )
        state = tmp_path / ".new.state"
        if tear:
            state.write_bytes(state.read_bytes()[:-100])
        steps: list[int] = []
        learner = GradientLearner(config, lambda step, *_, steps=steps: steps.append(step))
        learner.learn(LearnerJob(start, copies(200, seed=8), tmp_path / "new", seed=0))
        assert steps[0] == 1
        (tmp_path / "new").rename(tmp_path / f"done-{tear}")


def test_an_existing_folder_is_never_overwritten(start: Checkpoint, tmp_path: Path):
    with pytest.raises(ConfigError, match="exists already"):
        GradientLearner(FAST).learn(LearnerJob(start, copies(2), tmp_path, 0))


def test_learning_leaves_torchs_generator_and_threads_alone(start: Checkpoint, tmp_path: Path):
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    config = FAST.model_copy(update={"threads": threads + 1})
    GradientLearner(config).learn(LearnerJob(start, copies(5), tmp_path / "new", 0))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_a_plan_takes_every_sequence_once_an_epoch_in_batches_that_fit():
    sequences, alone = copies(10), [[index] for index in range(10)]
    steps = plan(sequences, alone, batch_tokens=21, epochs=2, seed=0)
    assert [len(step) for step in steps] == [3, 3, 3, 1] * 2
    first, second = ([index for step in epoch for index in step] for epoch in (steps[:4], steps[4:]))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert [len(step) for step in plan(sequences, alone, batch_tokens=1, epochs=1, seed=0)] == [1] * 10


def test_a_plan_never_separates_what_belongs_together():
    pairs = [[index, index + 5] for index in range(5)]
    steps = plan(copies(10), pairs, batch_tokens=30, epochs=1, seed=0)
    assert sorted(tuple(step[at : at + 2]) for step in steps for at in range(0, len(step), 2)) == [
        (index, index + 5) for index in range(5)
    ]
    assert [len(step) for step in steps] == [4, 4, 2]  # two pairs of 14 tokens fit into 30


def test_learning_rates_by_hand():
    def factors(schedule: str) -> list[float]:
        return [learning_rate_factor(step, 6, 2, schedule) for step in range(6)]

    assert factors("linear") == pytest.approx([1 / 3, 2 / 3, 1, 0.75, 0.5, 0.25])
    assert factors("cosine") == pytest.approx(
        [1 / 3, 2 / 3, 1, 0.5 + 0.5 * 0.5**0.5, 0.5, 0.5 - 0.5 * 0.5**0.5]
    )
    assert factors("constant") == pytest.approx([1 / 3, 2 / 3, 1, 1, 1, 1])


@pytest.mark.parametrize(
    "setting",
    [
        {"learning_rte": 1.0},
        {"algorithm": "sftt"},
        {"options": {"dtf": True}},
        {"betas": (0.9, 1.0)},
        {"epochs": 0},
        {"optimiser": "muon", "lora": {}},
    ],
)
def test_misspelt_and_senseless_settings_are_errors(setting: dict):
    with pytest.raises(ValueError, match=next(iter(setting))[:5] + "|sftt|dtf"):
        LearnConfig.model_validate(setting)


def test_an_optimiser_that_keeps_its_moments_goes_on_as_if_there_had_been_no_break(
    start: Checkpoint, tmp_path: Path
):
    config = FAST.model_copy(update={"schedule": "constant", "warmup_fraction": 0.0, "keep_moments": True})
    sequences = copies(40)  # one batch each time
    GradientLearner(config.model_copy(update={"epochs": 2})).learn(
        LearnerJob(start, sequences, tmp_path / "whole", 0)
    )
    first = GradientLearner(config).learn(LearnerJob(start, sequences, tmp_path / "first", 0)).checkpoint
    GradientLearner(config).learn(LearnerJob(first, sequences, tmp_path / "second", 0))
    forgetful = config.model_copy(update={"keep_moments": False})
    GradientLearner(forgetful).learn(LearnerJob(first, sequences, tmp_path / "forgotten", 0))
    assert difference(tmp_path / "whole", tmp_path / "second") < 1e-6  # the order of sequences differs
    assert difference(tmp_path / "whole", tmp_path / "forgotten") > 1e-3
    (first.path / "moments.st").write_bytes(b"torn")
    with pytest.raises(ConfigError, match=r"moments.st cannot be restored"):
        GradientLearner(config).learn(LearnerJob(first, sequences, tmp_path / "torn", 0))
