"""What `agentevol train` and `run` say to input that cannot be used: one line, and nothing is written."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.trajectories import trajectory
from transformers import LlamaConfig, LlamaForCausalLM

from agentevol.cli import main
from agentevol.learn.batches.packing import episode_sequences
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import resolve
from agentevol.models.word_tokenizer import word_tokenizer
from agentgym_store.jsonl import export_jsonl
from agentgym_store.records import Sample, Trajectory, Turn
from agentgym_store.store import Store

WORDS = ("Make a guess.", "look", "go", "Right.", "open", "one", "two")


def model(folder: Path, words: tuple[str, ...] = WORDS, vocabulary: int | None = None) -> Path:
    tokenizer = word_tokenizer(words)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary or len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=16,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model(tmp_path_factory.mktemp("models") / "base")


@pytest.fixture(scope="module")
def episodes(base: Path) -> list[Trajectory]:
    """Two tasks, each won once and lost once."""
    renderer = ChatRenderer(load_tokenizer(base))
    found: list[Trajectory] = []
    for task in ("one", "two"):
        for attempt, (word, reward) in enumerate((("look", 1.0), ("go", 0.0))):
            ids = tuple(renderer.action_ids(word))
            sample = Sample(
                text=word,
                prompt_ids=(*range(3, 6), *renderer.action_ids(task)),
                token_ids=ids,
                logprobs=(-1.0,) * len(ids),
                policy_version=7,
            )
            found.append(
                trajectory(
                    id=f"{task}/{attempt}",
                    task_id=task,
                    attempt=attempt,
                    initial_observation=task,
                    turns=(Turn(action=word, observation="Right.", reward=reward, sample=sample),),
                )
            )
    return found


Said = tuple[int, str]


@pytest.fixture
def train(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Exit code and last line of stderr; a failure leaves nothing behind."""

    def call(data: Path, *more: str) -> Said:
        out = tmp_path / "out"
        settings = [f"base={base}", "learn.threads=1", "learn.micro_batch_tokens=64"]
        before = sorted(tmp_path.iterdir())
        with pytest.raises(SystemExit) as ended:
            main(["train", str(data), *settings, *more, "--out", str(out)])
        error = capsys.readouterr().err
        code = ended.value.code
        assert isinstance(code, int)
        if code:
            assert error.splitlines()[-1].startswith("error: ")
            assert "Traceback" not in error
            assert "internal:" not in error
            assert sorted(tmp_path.iterdir()) == before
        return code, (error.splitlines() or [""])[-1]

    return call


def exported(tmp_path: Path, episodes: list[Trajectory], change: Callable[[dict], None]) -> Path:
    """The episodes as lossless JSON Lines, each changed."""
    file = tmp_path / "episodes.jsonl"
    export_jsonl(episodes, file)
    records = [json.loads(line) for line in file.read_text().splitlines()]
    for record in records:
        change(record)
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def sampled(field: str, value: object) -> Callable[[dict], None]:
    def change(record: dict) -> None:
        record["turns"][0]["sample"][field] = value

    return change


def rewarded(value: float) -> Callable[[dict], None]:
    def change(record: dict) -> None:
        record["turns"][0]["reward"] = value

    return change


def test_usable_episodes_are_learnt_from(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    assert train(exported(tmp_path, episodes, lambda record: None), "algorithm=grpo")[0] == 0
    assert (tmp_path / "out" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("change", "settings", "line"),
    [
        (
            rewarded(math.nan),
            ["algorithm=grpo"],
            "episode one/0 has a reward that is not a number: take it out",
        ),
        (
            rewarded(math.inf),
            ["algorithm=sft"],
            "episode one/0 has a reward that is not a number: take it out",
        ),
        (rewarded(0.0), ["algorithm=sft"], "none of 4 episodes is selected by select.rule = 'succeeded'"),
        (rewarded(0.0), ["algorithm=dpo"], "no pair in 2 tasks: 2 of them one-sided"),
        (rewarded(1.0), ["algorithm=orpo"], "no pair in 2 tasks: 2 of them one-sided"),
        (sampled("prompt_ids", [2**40]), ["algorithm=grpo"], "token ids above 32 bits"),
        (sampled("prompt_ids", [5000]), ["algorithm=grpo"], "token ids outside of the model's"),
        (sampled("prompt_ids", [-1]), ["algorithm=grpo"], "token ids outside of the model's"),
        (sampled("prompt_ids", []), ["algorithm=grpo"], "sampled turn 0 from an empty prompt"),
        (sampled("prompt_ids", [3] * 64), ["algorithm=grpo"], "4 above 64 tokens (learn.micro_batch_tokens"),
        (
            sampled("prompt_ids", [3] * 64),
            ["algorithm=grpo", "learn.overflow=error"],
            "episode one/0 has 66 tokens, more than 64",
        ),
        (sampled("logprobs", [0.5, 0.5]), ["algorithm=grpo"], "log-probability is not finite or above 0"),
        (sampled("text", "something else"), ["algorithm=grpo"], "where 'something else' was sampled"),
        (
            sampled("prompt_ids", [3]),
            ["algorithm=kto", "learn.options.kto_reference=mismatched"],
            "all 4 have the same: take 'batch'",
        ),
    ],
)
def test_episodes_that_cannot_be_learnt_from(
    train: Callable[..., Said],
    tmp_path: Path,
    episodes: list[Trajectory],
    change: Callable[[dict], None],
    settings: list[str],
    line: str,
):
    code, said = train(exported(tmp_path, episodes, change), *settings)
    assert code == 2
    assert line in said


def test_all_equal_groups_are_counted_and_change_nothing(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    data = exported(tmp_path, episodes, rewarded(0.0))
    code, _ = train(data, "algorithm=grpo", "learn.options.kl_coef=0.0")
    metrics = json.loads((tmp_path / "out" / "agentevol.json").read_text())["metrics"]
    assert (code, metrics["frac_zero_std_groups"], metrics["grad_norm_max"]) == (0, 1.0, 0.0)


def test_stale_samples_are_left_out_counted_and_leave_groups_of_one(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    def stale(record: dict) -> None:  # five updates before the newest, 7
        if record["id"] == "two/1":
            record["turns"][0]["sample"]["policy_version"] = 2

    data = exported(tmp_path, episodes, stale)
    code, _ = train(data, "algorithm=grpo", "learn.options.kl_coef=0.0")
    metrics = json.loads((tmp_path / "out" / "agentevol.json").read_text())["metrics"]
    # of task two only the win is left, which has nothing to be compared with: the singleton policy, 0
    assert (code, metrics["sequences"], metrics["groups_of_1"], metrics["groups_of_2"]) == (0, 3.0, 1.0, 1.0)
    assert metrics["adv_mean"] == pytest.approx(0.0, abs=1e-6)
    sequences = [json.loads(line) for line in (tmp_path / "out" / "sequences.jsonl").read_text().splitlines()]
    assert "two/1" not in str(sequences)


def test_nothing_is_left_out_as_stale_where_that_is_switched_off(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    data = exported(tmp_path, episodes, sampled("policy_version", 2))
    mixed = [json.loads(line) for line in data.read_text().splitlines()]
    mixed[0]["turns"][0]["sample"]["policy_version"] = 99
    data.write_text("".join(json.dumps(record) + "\n" for record in mixed))
    code, _ = train(data, "algorithm=grpo", "select.max_lag=null")
    metrics = json.loads((tmp_path / "out" / "agentevol.json").read_text())["metrics"]
    assert (code, metrics["sequences"]) == (0, 4.0)


def test_a_reward_in_a_table_that_is_no_number_is_named(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    turn = episodes[1].turns[0].model_copy(update={"reward": math.nan})
    broken = [episodes[0], episodes[1].model_copy(update={"turns": (turn,)})]
    Store.open(tmp_path / "table", create=True).append(broken, commit={"run": "r"})
    code, said = train(tmp_path / "table", "select.rule=all")
    assert code == 2
    assert "episode one/1 has a reward that is not a number" in said


def test_a_table_without_such_episodes_says_where_to_look(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    Store.open(tmp_path / "table", create=True).append(episodes, commit={"run": "r"})
    code, said = train(tmp_path / "table", "--iteration", "3")
    assert code == 2
    assert said.endswith(
        "has no episodes of purpose 'explore' of iteration 3: see `agentevol trajectories stats`"
    )


def test_a_truncated_export_names_the_line(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    file = exported(tmp_path, episodes, lambda record: None)
    file.write_bytes(file.read_bytes()[:-40])
    code, said = train(file)
    assert code == 1
    assert "episodes.jsonl, line 4: line: Invalid JSON: EOF" in said


GOOD = '{"messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "go"}]}\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "has no records"),
        ("[]", "has no records"),
        (
            GOOD + GOOD[:30],
            "data.jsonl, line 2: not JSON, of which a line holds a record (Expecting",
        ),
        ("[" * 5000, "nested too deeply for a record"),
        ("7\n", "data.jsonl, record 1: not a JSON object"),
        ('{"text": "go"}', "record 1: neither messages, conversations, completion, nor chosen and rejected"),
        (GOOD.replace("assistant", "bot"), "record 1: messages.1.role: Input should be 'system', 'user' or"),
        (GOOD.replace('"user"', '"assistant"'), "a conversation begins with a user's message"),
        (GOOD.replace('"go"', "null"), "record 1: messages.1.content: Input should be a valid string"),
        ('{"messages": 3}', "record 1: messages: Input should be a valid list"),
        ('{"conversations": ["go"]}', "record 1: conversations.0: Input should be a valid dictionary"),
        ('{"conversations": [{"from": ["human"], "value": "go"}]}', "conversations.0.role: Input should be"),
        ('{"prompt": 1, "completion": "go"}', "record 1: prompt: Input should be a valid list"),
        (
            '{"prompt": "one", "chosen": "go", "rejected": 2}',
            "record 1: rejected: Input should be a valid list",
        ),
        (
            '{"prompt": "one", "completion": "go", "label": "false"}',
            "record 1: label: Input should be a valid b",
        ),
        (
            '{"prompt": "one", "completion": "go", "label": null}',
            "record 1: label: Input should be a valid bool",
        ),
        ('{"prompt": "one", "chosen": "go", "rejected": "look"}', "sft learns from episodes"),
        (GOOD.replace('"one"', f'"{"look " * 90}"'), "1 above 64 tokens"),
        (b"\xff\xfe\x00", "is no text in UTF-8, so neither JSON nor JSON Lines"),
    ],
)
def test_data_sets_of_chats_that_cannot_be_learnt_from(
    train: Callable[..., Said], tmp_path: Path, text: str | bytes, line: str
):
    file = tmp_path / "data.jsonl"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, said = train(file)
    assert code == 2
    assert line in said


def test_a_byte_order_mark_is_no_data(train: Callable[..., Said], tmp_path: Path):
    file = tmp_path / "data.jsonl"
    file.write_text(GOOD, encoding="utf-8-sig")
    assert train(file)[0] == 0


def test_a_pair_of_equal_sides_teaches_nothing(train: Callable[..., Said], tmp_path: Path):
    file = tmp_path / "data.jsonl"
    file.write_text('{"prompt": "one", "chosen": "go", "rejected": "go"}')
    code, said = train(file, "algorithm=dpo")
    assert code == 2
    assert said.endswith("nothing to learn from 2 sequences: 2 of pairs whose sides are the same")


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["algorithm=gropo"], "no algorithm named 'gropo'; there are: adpo"),
        (["algorithm=dpo", "learn.options.gamma=1.0"], "dpo has no option 'gamma'; there are: beta"),
        (
            ["algorithm=dpo", "learn.options.beta=0"],
            "option 'beta' of dpo cannot be 0: Input should be greater",
        ),
        (["learn.rate=1"], "unknown key 'learn.rate'"),
        (["learn.learning_rate=-1"], "learn.learning_rate: Input should be greater than or equal to 0"),
        (["learn.device=gpu9"], "no device 'gpu9'"),
        (
            ["base=no/such/model"],
            "no model 'no/such/model': give `starter`, a model folder or a run's folder",
        ),
        (["missing.toml"], "cannot read the configuration missing.toml"),
    ],
)
def test_settings_that_cannot_be_used(
    train: Callable[..., Said], tmp_path: Path, settings: list[str], line: str
):
    (tmp_path / "data.jsonl").write_text(GOOD)
    code, said = train(tmp_path / "data.jsonl", *settings)
    assert code == 2
    assert line in said


def cut(file: str, size: int) -> Callable[[Path], None]:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes()[:size]) and None


def written(file: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / file).write_text(text) and None


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights (*.safetensors)"),
        (cut("model.safetensors", 99), "model.safetensors is corrupt"),
        (cut("model.safetensors", -1), "model.safetensors is corrupt"),
        (cut("tokenizer.json", 40), "the tokenizer of"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "it has no tokenizer.json"),
        (written("config.json", "[]"), "cannot load the model in"),
        (written("chat_template.jinja", "{% for"), "the chat template cannot render"),
        (lambda folder: (folder / "chat_template.jinja").unlink(), "the tokenizer has no chat template"),
        (written("best.json", "{"), "best.json is corrupt"),
        (written("agentevol.json", "[]"), "agentevol.json is corrupt: no JSON object"),
    ],
)
def test_folders_that_are_no_model(
    train: Callable[..., Said], tmp_path: Path, damage: Callable[[Path], None], line: str
):
    damage(model(tmp_path / "damaged"))
    (tmp_path / "data.jsonl").write_text(GOOD)
    code, said = train(tmp_path / "data.jsonl", f"base={tmp_path / 'damaged'}")
    assert code == 2
    assert line in said


def test_weights_of_another_vocabulary_are_counted(train: Callable[..., Said], tmp_path: Path):
    folder = model(tmp_path / "other")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 5}))
    (tmp_path / "data.jsonl").write_text(GOOD)
    code, said = train(tmp_path / "data.jsonl", f"base={folder}")
    assert code == 2
    assert "are not those of a LlamaForCausalLM: 2 tensors are missing, left over or of another shape" in said


def test_a_tokenizer_of_the_same_size_that_reads_other_words_is_noticed(
    train: Callable[..., Said], tmp_path: Path, episodes: list[Trajectory]
):
    model(tmp_path / "other", words=tuple(word[::-1] for word in WORDS))
    file = exported(tmp_path, episodes, lambda record: None)
    code, said = train(file, f"base={tmp_path / 'other'}", "algorithm=grpo")
    assert code == 2
    assert "where 'look' was sampled: take a base with the tokenizer of the policy that played" in said


def test_a_checkpoint_says_itself_of_which_version_it_is(tmp_path: Path):
    folder = model(tmp_path / "own")
    assert resolve(str(folder)).version == 0
    (folder / "agentevol.json").write_text('{"version": 3}')
    assert resolve(str(folder)).version == 3


def test_episodes_without_turns_have_no_sequences(episodes: list[Trajectory]):
    assert episode_sequences(episodes[0].model_copy(update={"turns": ()}), 1.0) == []


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            ["environment.name=gues"],
            "environment.name: no environment named 'gues'; there are: academia, alfworld",
        ),
        (["base=no/such/model"], "no model 'no/such/model'"),
        (["algorithm=gropo"], "no algorithm named 'gropo'"),
        (["algorithm=ipo", "learn.options.beta=0"], "option 'beta' of ipo cannot be 0"),
        (["algorithm=ranking", "explore.samples=17"], "takes 16 samples of a task at most"),
    ],
)
def test_a_run_that_cannot_begin_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], base: Path, settings: list[str], line: str
):
    assert said_by_run(tmp_path, capsys, f"base={base}", *settings)[0] == 2
    assert line in said_by_run(tmp_path, capsys, f"base={base}", *settings)[1]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (written("chat_template.jinja", "{% for"), "the chat template cannot render"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights (*.safetensors)"),
        (cut("model.safetensors", 99), "model.safetensors is corrupt"),
        (written("config.json", "{"), "is no JSON"),
    ],
)
def test_a_run_whose_base_is_no_model_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None], line: str
):
    damage(model(tmp_path / "damaged"))
    code, said = said_by_run(tmp_path, capsys, f"base={tmp_path / 'damaged'}")
    assert code == 2
    assert line in said
    assert not (tmp_path / "run").exists()


def test_a_run_whose_model_reads_fewer_ids_than_its_tokenizer_gives_leaves_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model(tmp_path / "small", vocabulary=5)
    code, said = said_by_run(tmp_path, capsys, f"base={tmp_path / 'small'}")
    assert code == 2
    assert "its model reads 5: take both from one checkpoint" in said
    assert not (tmp_path / "run").exists()


def said_by_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], *settings: str) -> Said:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["run", "--out", str(tmp_path / "run"), "environment.name=guess", *settings])
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert isinstance(ended.value.code, int)
    return ended.value.code, error
