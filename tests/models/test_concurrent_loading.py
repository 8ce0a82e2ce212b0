"""Models that several threads of a process load at the same time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.tiny_models import write_checkpoint
from transformers import PreTrainedModel

from agentevol.models.causal_lm import load_model

THREADS, MODELS = 8, 24


def is_tied(model: PreTrainedModel) -> bool:
    return model.get_output_embeddings().weight is model.get_input_embeddings().weight


def test_output_embeddings_stay_tied(tmp_path: Path):
    folder, before = write_checkpoint(tmp_path / "tied", tied=True), PreTrainedModel.tie_weights
    with ThreadPoolExecutor(THREADS) as pool:
        loaded = list(pool.map(lambda _: load_model(folder, "eager"), range(MODELS)))
    after, PreTrainedModel.tie_weights = PreTrainedModel.tie_weights, before
    assert after is before
    assert all(map(is_tied, loaded))
