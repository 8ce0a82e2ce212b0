"""Two processes on one machine, over gloo: what they learn together is what one learns alone.

This file is also what the processes run: they wait for the name of a function of it and its arguments.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.tiny_models import qwen2
from torch import distributed
from torch.distributed import FileStore  # pyright: ignore[reportPrivateImportUsage]
from transformers import Qwen2ForCausalLM

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.algorithms.contract import Algorithm, Batch, Loss, Objective
from agentevol.core.algorithms.registry import ALGORITHMS, objective
from agentevol.core.errors import AgentEvolError, ConfigError
from agentevol.core.protocols import (
    Anchor,
    Checkpoint,
    EpisodeFacts,
    LearnerJob,
    LearnReport,
    TrainingSequence,
)
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.packing import packed
from agentevol.learn.checkpoints import optimiser_state
from agentevol.learn.continual import ewc
from agentevol.learn.distributed.forward_passes import shared_out
from agentevol.learn.distributed.ranks import ALONE, Ranks, join
from agentevol.learn.distributed.sharding import on_first, shard, whole
from agentevol.learn.gradients import Step, accumulate
from agentevol.learn.heads import linear as heads
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.network import Kind, Network, Reader
from agentevol.learn.precomputed_columns import add_old, add_reference
from agentevol.models.causal_lm import load_model

pytestmark = pytest.mark.slow  # two more processes load torch and learn, which takes most of a minute

CPU = torch.device("cpu")
VOCABULARY = 13
"""Odd, so that the ranks' shards of the embeddings are not equal."""


class Pair:
    """Two processes that have joined: one imports all it needs, which takes seconds, and forks the other."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        ends = [Pipe() for _ in (0, 1)]
        self._ranks = [ours for ours, _ in ends]
        theirs = [end.fileno() for _, end in ends]
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(folder / "store"), *map(str, theirs)],
            pass_fds=theirs,
            env=environment,
            start_new_session=True,
        )
        for _, end in ends:
            end.close()

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What the function of this file gives on rank 0 and on rank 1; `ranks` comes before `arguments`."""
        for rank in self._ranks:
            rank.send_bytes(pickle.dumps((function.__name__, arguments)))
        told = [pickle.loads(rank.recv_bytes()) for rank in self._ranks]
        broken = [one for one in told if isinstance(one, BaseException)]
        if broken:
            raise broken[0]
        return told

    def end(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Generator[Pair]:
    together = Pair(tmp_path_factory.mktemp("pair"))
    yield together
    together.end()


def serve(store: str, *ends: str) -> None:
    """Be the pair. It forks before there are threads."""
    rank = 0 if os.fork() else 1
    asked = Connection(int(ends[rank]))
    os.close(int(ends[1 - rank]))
    torch.set_num_threads(1)
    ALGORITHMS["contrast"] = f"{__name__}:ALGORITHM"
    ranks = join(FileStore(store, 2), rank, 2, timeout_s=60)
    while True:
        name, arguments = pickle.loads(asked.recv_bytes())
        try:
            answer = globals()[name](ranks, *arguments)
        except Exception as cause:  # noqa: BLE001 - the test that asked raises it
            answer = cause
        asked.send_bytes(pickle.dumps(answer))


def contrast(batch: Batch) -> Loss:
    """Every sequence against all others of the batch: nothing of it can be computed apart."""
    score_J = batch.sums(batch.logp)
    if batch.value is not None:
        score_J = score_J + batch.side * batch.sums((batch.value + 1) ** 2)
    if batch.entropy is not None:
        score_J = score_J + batch.sums(batch.entropy)
    value = -(score_J.log_softmax(0) * batch.side).sum()
    return Loss(value, {"score": float(score_J.detach().sum()), "score_max": float(score_J.detach().max())})


ALGORITHM = Algorithm(loss=contrast, data="pairs", together="batch", model="critic", needs={"value": None})


def joint(together: str, *needs: str) -> Objective:
    sft = objective("sft")
    if together == "sequence":
        return sft
    return replace(
        sft, algorithm=replace(sft.algorithm, together=together), loss=contrast, needs=frozenset(needs)
    )


def sequences(units: int = 3) -> list[TrainingSequence]:
    """Pairs of 5 to 9 tokens a side, of which 3 are learnt."""
    random = np.random.default_rng(0)
    made = []
    for unit in range(units):
        for side in (1, -1):
            length = int(random.integers(5, 10))
            mask = np.arange(length) >= length - 3
            ids = random.integers(0, VOCABULARY, length).astype(np.int32)
            said = np.where(mask, -2.0, np.nan).astype(np.float32)
            made.append(
                TrainingSequence(
                    ids, mask, said, 1.0, f"{unit}{side}", policy_version=4, unit=f"pair {unit}", side=side
                )
            )
    return made


def model(seed: int = 0, **more: Any) -> Qwen2ForCausalLM:
    made = qwen2(VOCABULARY, seed=seed, layers=2, intermediate=24, **more)
    made.set_attn_implementation(PACKED_ATTENTION)
    return made.train()


def network(
    ranks: Ranks,
    kind: Kind = "policy",
    *,
    narrow: bool = False,
    half: bool = False,
    outputs: int = 1,
    seed: int = 0,
) -> Network:
    """The same weights on all ranks, in shards where there are several."""
    inner = model(seed)
    own = None
    if kind != "policy":
        own = heads.new_heads(inner, outputs)
        torch.nn.init.normal_(own.weight)
    reader = Reader(inner, own)
    if ranks.size > 1:
        shard(reader, CPU, narrow=narrow)
    return Network(reader, kind, CPU, half=half)


def gradient(
    ranks: Ranks, together: str, needs: tuple[str, ...], kind: Kind, max_tokens: int, units: int = 3
) -> tuple[list[torch.Tensor | None], Step]:
    """The whole gradient of one step over some pairs, weight by weight, and what the step came to."""
    net, assembly, chosen = network(ranks, kind), Assembly(sequences(units)), joint(together, *needs)
    batch = assembly.optimiser_batch(range(2 * units))
    step = accumulate(net, assembly, chosen, batch, max_tokens, ranks)
    gradients = [parameter.grad for parameter in net.parameters()]
    return [None if one is None else whole(one) for one in gradients], step


def assert_equal_to_rounding(
    found: list[torch.Tensor | None], wanted: list[torch.Tensor | None], share: float = 1e-5
) -> None:
    """In float32: relative to the largest entry. No gradient is not a gradient of 0."""
    largest = max(one.abs().max().item() for one in wanted if one is not None)
    assert largest > 1e-5
    assert [one is None for one in found] == [one is None for one in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        if ours is not None and theirs is not None:
            torch.testing.assert_close(ours, theirs, atol=share * largest, rtol=0.0)


@pytest.mark.parametrize("kind", ["policy", "critic"])
@pytest.mark.parametrize(
    ("together", "needs", "max_tokens", "units"),
    [
        ("sequence", (), 9, 3),  # three sequences each
        ("unit", ("entropy",), 20, 3),  # one pass: rank 1 has a pair less and reads a spare sequence
        ("unit", (), 10, 3),  # two passes, since no pair fits
        ("batch", ("entropy",), 1000, 3),  # fits into one, but then only one rank would work
        ("unit", (), 20, 1),  # one pair: each rank takes a side of it
    ],
)
def test_two_ranks_find_the_gradient_that_one_finds(
    pair: Pair, kind: Kind, together: str, needs: tuple[str, ...], max_tokens: int, units: int
):
    wanted, alone = gradient(ALONE, together, needs, kind, max_tokens, units)
    for found, step in pair.run(gradient, together, needs, kind, max_tokens, units):
        assert_equal_to_rounding(found, wanted)
        assert step.loss == pytest.approx(alone.loss, rel=1e-5)
        assert step.nll == pytest.approx(alone.nll, rel=1e-5)
        assert step.metrics == pytest.approx(alone.metrics, rel=1e-5)
        assert step.correct == alone.correct


def sequences_for(data: str) -> list[TrainingSequence]:
    """Sequences of the kind that an algorithm learns from: of three tasks, two episodes each."""
    random = np.random.default_rng(1)
    made = []
    for sequence in sequences():
        group, won = sequence.unit, sequence.side == 1
        episode = EpisodeFacts(
            group=group, rewards=(float(won),), anchors=("",), modes=(0,), invalid=(False,), truncated=False,
            costs={"harm": random.random()},
        )  # fmt: skip
        sequence = replace(sequence, turn=np.where(sequence.mask, 0, -1).astype(np.int32), episode=episode)
        match data:
            case "pairs":
                pass
            case "groups":
                sequence = replace(sequence, side=0)
            case "labels":
                sequence = replace(sequence, unit="")
            case "steps":
                labels = random.random((len(sequence.mask), 2)).astype(np.float32)
                sequence = replace(sequence, unit="", side=0, labels=labels)
            case _:
                sequence = replace(sequence, unit="", side=0)
        made.append(sequence)
    return made


def gradient_of(
    ranks: Ranks, name: str, max_tokens: int, **options: Any
) -> tuple[list[torch.Tensor | None], Step]:
    """The whole gradient of one step of the algorithm, and what the step came to."""
    chosen = objective(name, options)
    assembly = Assembly(sequences_for(chosen.algorithm.data))
    outputs = 2 if chosen.algorithm.data == "steps" else int(chosen.options.get("heads", 1))
    net = network(ranks, chosen.algorithm.model, outputs=outputs)
    if "old_logp" in chosen.needs or net.kind == "critic":
        add_old(net, assembly, 20, ranks)
    if "ref_logp" in chosen.needs:
        add_reference(network(ranks, seed=1), net, assembly, 20, ranks)
    if chosen.advantage is not None:
        given = chosen.advantage(assembly.rollouts({"harm": 0.5}))
        assembly.add_column("advantage", given.advantage)
        if given.target is not None:
            assembly.add_column("target", given.target)
    batch = assembly.optimiser_batch(range(len(assembly.training_sequences)))
    step = accumulate(net, assembly, chosen, batch, max_tokens, ranks)
    gradients = [parameter.grad for parameter in net.parameters()]
    return [None if one is None else whole(one) for one in gradients], step


@pytest.mark.parametrize("max_tokens", [10, 20])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_one_gradient_however_many_ranks_find_it(pair: Pair, name: str, max_tokens: int):
    wanted, alone = gradient_of(ALONE, name, max_tokens)
    for found, step in pair.run(gradient_of, name, max_tokens):
        assert_equal_to_rounding(found, wanted)
        assert step.loss == pytest.approx(alone.loss, rel=1e-5, abs=1e-6)
        assert step.metrics == pytest.approx(alone.metrics, rel=1e-4, abs=1e-5)


def gradient_at_one_temperature(ranks: Ranks, max_tokens: int) -> tuple[list[torch.Tensor | None], Step]:
    return gradient_of(ranks, "adpo", max_tokens, temperature="batch", scale_rewards="none")


def test_an_option_that_needs_the_whole_batch_has_one_gradient_too(pair: Pair):
    wanted, alone = gradient_at_one_temperature(ALONE, 1000)
    for found, step in (gradient_at_one_temperature(ALONE, 10), *pair.run(gradient_at_one_temperature, 10)):
        assert_equal_to_rounding(found, wanted)
        assert step.metrics == pytest.approx(alone.metrics, rel=1e-4, abs=1e-5)


def test_the_comparison_notices_gradients_that_are_not_summed():
    wanted, _ = gradient(ALONE, "sequence", (), "policy", 1000)
    halves = [None if one is None else one / 2 for one in wanted]
    with pytest.raises(AssertionError):
        assert_equal_to_rounding(halves, wanted)


FAST = {
    "learning_rate": 1e-3, "batch_tokens": 40, "micro_batch_tokens": 20, "device": "cpu", "threads": 1,
    "max_logp_gap": 10.0,
}  # fmt: skip
"""Three steps an epoch for six pairs, of one or two passes a rank."""


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint(saved(tmp_path_factory.mktemp("start") / "plain"), version=4)


def saved(folder: Path, **more: Any) -> Path:
    model(**more).save_pretrained(folder)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return folder


def learn(
    ranks: Ranks, size: int, start: Checkpoint, out: Path, settings: dict[str, Any], die_at: int = 0
) -> LearnReport | list[int]:
    """The report, or the steps that were taken up to the one in which to die."""
    if size == 1:
        ranks, out = ALONE, out.with_name(out.name + f"-{ranks.rank}")  # each for itself
    steps: list[int] = []

    def progress(step: int, _steps: int, _loss: float) -> None:
        steps.append(step)
        if step == die_at:
            raise KeyboardInterrupt

    config = LearnConfig.model_validate({**FAST, **settings, "shards": size})
    learner = GradientLearner(config, progress, ranks)
    try:
        report = learner.learn(LearnerJob(start, sequences(6), out, seed=0))
    except KeyboardInterrupt:
        return steps
    return replace(report, metrics={**report.metrics, "first_step": float(steps[0])})


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_model(path, PACKED_ATTENTION).state_dict()


def difference(one: Path, other: Path) -> float:
    ours, theirs = weights(one), weights(other)
    assert ours.keys() == theirs.keys()
    return max((ours[name] - theirs[name]).abs().max().item() for name in ours)


def assert_same_figures(ours: LearnReport, theirs: LearnReport, share: float) -> None:
    for name, value in theirs.metrics.items():
        if name not in ("seconds", "tokens_per_s"):
            assert ours.metrics[name] == pytest.approx(value, rel=share), name


@pytest.mark.parametrize(
    ("more", "settings"),
    [
        ({}, {}),
        ({"tie_word_embeddings": True}, {}),
        ({}, {"algorithm": "contrast"}),
        ({}, {"algorithm": "contrast", "critic_learning_rate": 1e-2, "critic_warmup": 1}),
        ({}, {"gradient_checkpointing": True}),
        ({}, {"lora": {"rank": 4, "alpha": 8}}),
    ],
    ids=str,
)
def test_two_ranks_learn_what_one_learns(
    pair: Pair, tmp_path: Path, more: dict[str, Any], settings: dict[str, Any]
):
    start = Checkpoint(saved(tmp_path / "start", **more), version=4)
    alone, _ = pair.run(learn, 1, start, tmp_path / "one", settings)
    both = pair.run(learn, 2, start, tmp_path / "two", settings)
    one, two = tmp_path / "one-0", tmp_path / "two"
    assert difference(start.path, one) > 1e-3
    assert difference(one, two) < 1e-5  # three steps of 1e-3, rounded in float32
    for report in both:
        assert report.checkpoint == Checkpoint(two, 5)
        assert_same_figures(report, alone, 1e-5)
    files = sorted(file.name for file in one.iterdir())
    assert sorted(file.name for file in two.iterdir()) == files
    assert "tokenizer.json" in files
    assert sorted(file.name for file in tmp_path.iterdir()) == ["one-0", "one-1", "start", "two"]


def hold(ranks: Ranks, size: int, start: Checkpoint, out: Path, settings: dict[str, Any]) -> LearnReport:
    """Learn with half of the sequences replayed, held to where the start is by what it says of others."""
    if size == 1:
        ranks, out = ALONE, out.with_name(out.name + f"-{ranks.rank}")
    config = LearnConfig.model_validate({**FAST, **settings, "shards": size})
    own = {"unit": "", "side": 0, "policy_version": start.version}
    given = [replace(sequence, replayed=sequence.side < 0, **own) for sequence in sequences(6)]
    anchor = Anchor(start, given[:3], None if config.lora else out.with_name(out.name + ".ewc"))
    return GradientLearner(config, ranks=ranks).learn(LearnerJob(start, given, out, seed=0, anchor=anchor))


EWC = {"strength": 10.0, "online": True}


@pytest.mark.parametrize(
    "settings",
    [
        {"ewc": EWC},
        {"ewc": {**EWC, "fisher": "labels"}},
        {"lora": {"rank": 4, "alpha": 8, "keep": True}, "ewc": EWC},
        {"distillation": 0.5, "distillation_form": "full"},
    ],
    ids=str,
)
def test_two_ranks_are_held_as_one_is(pair: Pair, tmp_path: Path, settings: dict[str, Any]):
    begun = Checkpoint(saved(tmp_path / "begun"), version=4)
    before = {name: value for name, value in settings.items() if name == "lora"}
    pair.run(hold, 2, begun, tmp_path / "start", before)
    start = Checkpoint(tmp_path / "start", 5)
    alone, _ = pair.run(hold, 1, start, tmp_path / "one", settings)
    both = pair.run(hold, 2, start, tmp_path / "two", settings)
    one, two = tmp_path / "one-0", tmp_path / "two"
    assert difference(start.path, one) > 1e-3
    assert difference(one, two) < 1e-5
    for report in both:
        # a penalty is a difference of two squares that are nearly equal: 1e-3 of it is rounding
        assert_same_figures(report, alone, 1e-3)
    assert sorted(file.name for file in two.iterdir()) == sorted(file.name for file in one.iterdir())
    if "ewc" in settings:
        ours, theirs = ewc.load(two / ewc.FILE), ewc.load(one / ewc.FILE)
        assert ours.fisher.keys() == theirs.fisher.keys()
        for name, tensor in theirs.fisher.items():
            torch.testing.assert_close(ours.fisher[name], tensor, rtol=1e-3, atol=1e-9)
            torch.testing.assert_close(ours.weights[name], theirs.weights[name])


def test_heads_are_learnt_and_saved_whole(pair: Pair, start: Checkpoint, tmp_path: Path):
    for size in (1, 2):
        pair.run(learn, size, start, tmp_path / str(size), {"algorithm": "contrast", "learning_rate": 1e-2})
    alone, both = heads.load_heads(tmp_path / "1-0"), heads.load_heads(tmp_path / "2")
    assert alone is not None
    assert both is not None
    assert alone.bias.abs().item() > 1e-3  # 0 at the start; one sequence, so one rank has none of it
    torch.testing.assert_close(both.weight, alone.weight, atol=1e-5, rtol=0.0)
    torch.testing.assert_close(both.bias, alone.bias, atol=1e-5, rtol=0.0)


def test_what_the_optimiser_remembers_is_written_whole_and_taken_up_in_parts(
    pair: Pair, start: Checkpoint, tmp_path: Path
):
    settings = {"keep_moments": True}
    for size in (1, 2):
        pair.run(learn, size, start, tmp_path / str(size), settings)
    alone, both = (load_file(tmp_path / name / optimiser_state.FILE) for name in ("1-0", "2"))
    assert max(values.abs().max().item() for values in alone.values() if values.ndim) > 1e-2
    for name, values in alone.items():
        torch.testing.assert_close(both[name], values, atol=1e-6, rtol=1e-4)
    before = Checkpoint(tmp_path / "1-0", 4)
    for size in (1, 2):
        pair.run(learn, size, before, tmp_path / f"next-{size}", settings)
        pair.run(learn, size, before, tmp_path / f"forgotten-{size}", {})
    assert difference(tmp_path / "next-1-0", tmp_path / "next-2") < 1e-5
    assert difference(tmp_path / "next-2", tmp_path / "forgotten-2") > 1e-4


@pytest.mark.parametrize("settings", [{}, {"lora": {"rank": 4, "alpha": 8}}], ids=str)
def test_half_precision_is_as_good_on_two_ranks(
    pair: Pair, start: Checkpoint, tmp_path: Path, settings: dict[str, Any]
):
    settings = {**settings, "dtype": "bf16"}
    alone, _ = pair.run(learn, 1, start, tmp_path / "one", settings)
    for report in pair.run(learn, 2, start, tmp_path / "two", settings):
        assert_same_figures(report, alone, 1e-2)  # bf16 has 8 bits


def gradient_in_half(ranks: Ranks, narrow: bool) -> list[torch.Tensor | None]:
    """Of two sequences, of which each rank reads one."""
    net, assembly = network(ranks, narrow=narrow, half=True), Assembly(sequences(1))
    accumulate(net, assembly, objective("sft"), assembly.optimiser_batch(range(2)), 10, ranks)
    return [None if one.grad is None else whole(one.grad) for one in net.parameters()]


def test_layers_that_are_gathered_in_half_precision_give_gradients_in_full(pair: Pair):
    wanted = gradient_in_half(ALONE, narrow=False)
    found, _ = pair.run(gradient_in_half, True)
    assert {one.dtype for one in found if one is not None} == {torch.float32}
    assert_equal_to_rounding(found, wanted)  # what autocast would have made of the weights
    in_full, _ = gradient(ALONE, "sequence", (), "policy", 10, 1)
    with pytest.raises(AssertionError):  # bf16 has 8 bits
        assert_equal_to_rounding(found, in_full)


def frozen(ranks: Ranks, truncated: tuple[int, ...] = (1, 4)) -> dict[str, list[np.ndarray]]:
    """The columns that are computed before the first step; episodes of these numbers were cut off."""
    facts = EpisodeFacts("g", (1.0,), ("",), (0,), (False,), truncated=True)
    given = [replace(one, episode=facts if n in truncated else None) for n, one in enumerate(sequences())]
    assembly = Assembly(given)
    add_old(network(ranks, "critic"), assembly, 10, ranks)
    found = {name: assembly.columns[name] for name in ("old_logp", "old_value")}
    assert assembly.final_value is not None
    return {**found, "final_value": [assembly.final_value]}


def test_frozen_columns_are_computed_in_shares_and_known_to_all(pair: Pair):
    wanted = frozen(ALONE)
    for found in pair.run(frozen):
        for name, column in wanted.items():
            for ours, theirs in zip(found[name], column, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert len({float(values[0]) for values in wanted["old_logp"]}) == 6  # sequences are not mixed up
    assert wanted["final_value"][0].nonzero()[0].tolist() == [1, 4]
    one = frozen(ALONE, (4,))["final_value"][0]
    for found in pair.run(frozen, (4,)):  # one sequence to read, for two ranks
        np.testing.assert_allclose(found["final_value"][0], one, rtol=1e-5)


def shapes_in_shards(ranks: Ranks) -> list[tuple[int, ...]]:
    """What this rank has of the output head and of a layer's matrix."""
    net = network(ranks)
    up = net.model.model.layers[0].mlp.up_proj
    shapes = [tuple(one.to_local().shape) for one in (net.model.lm_head.weight, up.weight)]
    with torch.no_grad():
        net.read(packed(sequences(1), [0]))
    assert all(whole(parameter) is not parameter for parameter in net.parameters())  # still shards
    entire = {name: one.shape for name, one in on_first(net.reader.named_parameters(), ranks).items()}
    known = {name: one.shape for name, one in Reader(model()).named_parameters()}
    assert entire == ({} if ranks.rank else known)
    return shapes


def test_every_rank_keeps_its_part_only(pair: Pair):
    first, second = pair.run(shapes_in_shards)
    assert first == [(7, 16), (12, 16)]  # of 13 words, of 24 inner values
    assert second == [(6, 16), (12, 16)]


CRITIC = {"algorithm": "contrast", "critic_learning_rate": 1e-2, "critic_warmup": 6}
"""A critic that learns alone, also in the two steps before the learner is killed."""


@pytest.mark.parametrize("settings", [{}, {"lora": {"rank": 4, "alpha": 8}}, CRITIC], ids=str)
@pytest.mark.parametrize("torn", [False, True])
def test_ranks_that_are_killed_go_on_bit_for_bit(
    pair: Pair, start: Checkpoint, tmp_path: Path, settings: dict[str, Any], torn: bool
):
    settings = {**settings, "epochs": 3}
    calm, _ = pair.run(learn, 2, start, tmp_path / "calm", settings)
    careful = {**settings, "save_every": 2}
    out = tmp_path / "killed"
    assert pair.run(learn, 2, start, out, careful, 7) == [[1, 2, 3, 4, 5, 6, 7]] * 2
    if torn:  # rank 1 had not yet replaced its state when it was killed
        (tmp_path / ".killed.state.1-of-2.before").replace(tmp_path / ".killed.state.1-of-2")
    for report in pair.run(learn, 2, start, out, careful):
        assert report.metrics["first_step"] == (5 if torn else 7)
        assert report.metrics["loss_mean"] == calm.metrics["loss_mean"]
    assert difference(tmp_path / "calm", out) == 0.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calm", "killed"]


def test_a_state_that_one_rank_lacks_is_not_taken_up(pair: Pair, start: Checkpoint, tmp_path: Path):
    pair.run(learn, 2, start, tmp_path / "new", {"save_every": 1}, 2)
    (tmp_path / ".new.state.1-of-2").unlink()
    for report in pair.run(learn, 2, start, tmp_path / "new", {"save_every": 1}):
        assert report.metrics["first_step"] == 1


def failure(ranks: Ranks, start: Checkpoint, out: Path, settings: dict[str, Any], count: int) -> str:
    """Why learning stops."""
    config = LearnConfig.model_validate({**FAST, **settings, "shards": 2})
    try:
        GradientLearner(config, None, ranks).learn(LearnerJob(start, sequences(count), out, seed=0))
    except AgentEvolError as cause:
        return f"{type(cause).__name__}: {cause}"
    return ""


def test_all_ranks_stop_for_the_same_reason(pair: Pair, start: Checkpoint, tmp_path: Path):
    for settings, count, reason in (
        ({"learning_rate": 1e30}, 6, "RunStopped: learning diverged in step 2 of 3"),
        ({}, 0, "NothingToLearn: nothing to learn from 0 sequences"),
    ):
        first, second = pair.run(failure, start, tmp_path / "new", settings, count)
        assert first.startswith(reason)
        assert second == first
    assert list(tmp_path.iterdir()) == []


def say(ranks: Ranks) -> tuple[list[str], list[bool], torch.Tensor]:
    own = torch.full((1 + ranks.rank, 2), float(ranks.rank + 1))
    flags = ranks.any([ranks.rank == 1, False])
    return ranks.gathered(f"from {ranks.rank}"), flags, ranks.joined(own, [1, 2])


def test_ranks_hear_each_other(pair: Pair):
    for told, flags, joined in pair.run(say):
        assert told == ["from 0", "from 1"]
        assert flags == [True, False]
        assert joined.tolist() == [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]]


def test_one_process_asks_nobody():
    assert not distributed.is_initialized()
    assert ALONE.gathered("it") == ["it"]
    assert ALONE.any([True, False]) == [True, False]


def of_lengths(*lengths: int) -> list[TrainingSequence]:
    return [replace(sequences(1)[0], token_ids=np.zeros(length, np.int32)) for length in lengths]


def test_passes_are_shared_by_tokens_and_a_rank_with_fewer_reads_a_spare_sequence():
    # The longest first: 7 to rank 0, then 5 and 4 to rank 1, which had fewer; 8 tokens hold one of them.
    first, second = (shared_out(of_lengths(4, 7, 5), [[0], [1], [2]], 8, Ranks(rank, 2)) for rank in (0, 1))
    assert (first.own, first.idle) == ([[1]], [[0]])
    assert (second.own, second.idle) == ([[2], [0]], [])
    assert first.order == second.order == [1, 2, 0]
    assert first.counts(np.array([1, 10, 100])) == [10, 101]


def test_what_belongs_together_is_read_by_one_rank():
    passes = shared_out(of_lengths(4, 4, 4, 4), [[0, 3], [1, 2]], 8, Ranks(0, 2))
    assert passes.by_rank == [[[0, 3]], [[1, 2]]]


def test_shards_without_the_processes_are_refused(start: Checkpoint, tmp_path: Path):
    config = LearnConfig.model_validate({**FAST, "shards": 2})
    with pytest.raises(ConfigError, match="shards is 2, but 1 processes learn"):
        GradientLearner(config).learn(LearnerJob(start, sequences(), tmp_path / "new", 0))


@pytest.mark.parametrize("setting", [{"optimiser": "muon"}, {"device": "cuda:1"}])
def test_settings_that_shards_cannot_have_are_errors(setting: dict[str, str]):
    LearnConfig.model_validate(setting)
    with pytest.raises(ValueError, match="shards"):
        LearnConfig.model_validate({**setting, "shards": 2})


if __name__ == "__main__":
    serve(*sys.argv[1:])
