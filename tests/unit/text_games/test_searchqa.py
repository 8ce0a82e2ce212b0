"""SearchQA: replies and texts by hand, scores, generated facts, imports of each format, dense search."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hash_seeds import printed

from agentgym_envs.core import TaskNotFound
from agentgym_envs.searchqa import SearchQA
from agentgym_envs.searchqa.corpus import BM25, Corpus, Dense
from agentgym_envs.searchqa.generator import HOPS, chains, world
from agentgym_envs.searchqa.importing import import_official, verify
from agentgym_envs.searchqa.records import Passage, SearchQAError
from agentgym_envs.searchqa.replies import Reply, parsed, shown
from agentgym_envs.searchqa.scoring import exact_match, f1, normalized
from agentgym_envs.searchqa.stored import found, opened

TOWNS = (
    Passage(title="Lyon", text="Lyon lies on the Rhone."),
    Passage(title="Nice", text="Nice lies at the sea."),
    Passage(title="Sea", text="The sea is deep."),
)


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("<think>x</think><search> a\nb </search>", Reply("search", "a\nb")),
        ("<answer>Lyon</answer> and <search>x</search>", Reply("answer", "Lyon")),
        ("<search>no end", None),
        ("<search>x</answer>", None),
        ("", None),
    ],
)
def test_the_first_tag_counts(reply: str, wanted: Reply | None):
    assert parsed(reply) == wanted


def test_the_text_of_a_search():
    assert shown(TOWNS[:2]) == (
        "<information>Doc 1(Title: Lyon) Lyon lies on the Rhone.\n"
        "Doc 2(Title: Nice) Nice lies at the sea.</information>"
    )
    assert shown([]) == "<information></information>"


# Scores: values worked out by hand after SQuAD's script.


def test_normalization_leaves_out_articles_and_punctuation():
    assert normalized(" The  U.S. an Apple's ") == "us apples"
    assert exact_match("the Eiffel tower!", ["Eiffel Tower"])
    assert not exact_match("Eiffel", ["Eiffel Tower"])


@pytest.mark.parametrize(
    ("answer", "right", "wanted"),
    [
        ("Eiffel Tower", ["Eiffel Tower"], 1.0),
        ("Eiffel", ["Eiffel Tower"], 2 / 3),
        ("tower tower", ["Eiffel Tower"], 0.5),
        ("no", ["no way"], 0.0),
        ("x", ["y", "x z"], 2 / 3),
        ("", ["y"], 0.0),
    ],
)
def test_f1_by_hand(answer: str, right: list[str], wanted: float):
    assert f1(answer, right) == pytest.approx(wanted)


@given(st.text(), st.lists(st.text(), min_size=1, max_size=3))
def test_an_exact_match_has_the_largest_f1(answer: str, right: list[str]):
    assert 0 <= f1(answer, right) <= 1
    assert not exact_match(answer, right) or f1(answer, right) == 1


# Episodes


@pytest.fixture
def env() -> SearchQA:
    return SearchQA()


def test_an_episode_by_hand(env: SearchQA):
    task = env.task("test/2/0")
    first = env.reset(task, 0).text
    assert first.endswith(f"\n\nQuestion: {task.question}")
    seen = env.step(f"<think>?</think><search>{task.evidence[0]}</search>")
    assert seen.observation.text.startswith(f"<information>Doc 1(Title: {task.evidence[0]}) ")
    assert task.evidence[1] in seen.observation.text
    invalid = env.step("I do not know")
    assert invalid.info == {"invalid_action": True}
    assert invalid.observation.text.startswith("Your previous action is invalid.")
    wrong = env.step("<answer>Atlantis</answer>")
    assert (wrong.observation.text, wrong.reward, wrong.terminated) == (
        "Sorry, your answer is incorrect. Please try again.",
        0.0,
        False,
    )
    assert "evidence" not in wrong.info
    right = env.step(f"<answer> the {task.answers[0].upper()}. </answer>")
    assert (right.observation.text, right.reward, right.terminated) == (
        "Congratulations! You have answered the question correctly.",
        1.0,
        True,
    )
    assert right.info["evidence"] == list(task.evidence)
    assert right.info["evidence_found"] == 0.5
    assert env.step(f"<answer>{task.answers[0]}</answer>").reward == 0


def test_strict_episodes_end_with_the_first_answer():
    env = SearchQA(strict=True)
    env.reset(env.task("test/1/3"), 0)
    lost = env.step("<answer>Atlantis</answer>")
    assert (lost.observation.text, lost.reward, lost.terminated) == (
        "Sorry, your answer is incorrect.",
        0.0,
        True,
    )
    assert lost.info["exact_match"] == 0


def test_the_reward_may_be_f1():
    env = SearchQA(score="f1")
    task = next(one for one in env.tasks("test", "2") if len(one.answers[0].split()) == 2)
    env.reset(task, 0)
    part = env.step(f"<answer>{task.answers[0].split()[0]}</answer>")
    assert part.terminated
    assert part.reward == pytest.approx(2 / 3)


def test_unknown_options_tasks_and_splits(env: SearchQA):
    with pytest.raises(ValueError, match="no corpus 'wikipedia'"):
        SearchQA(corpus="wikipedia")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="vectors and embed go together, with corpus=imported"):
        SearchQA(vectors="x.npy", embed="a:b")
    for name in ("test/5/0", "test/1/100", "test/1/x", "", "train/1/2000"):
        with pytest.raises(TaskNotFound):
            env.task(name)
    with pytest.raises(TaskNotFound):
        env.tasks("dev")


# Generated facts


def test_questions_of_each_number_of_hops_have_their_evidence():
    for hops in HOPS:
        for chain in chains("test", hops):
            assert len(chain.entities) == len(chain.relations) == hops
            facts = world("test").facts
            steps = [
                facts[entity][name] for entity, name in zip(chain.entities, chain.relations, strict=True)
            ]
            assert steps == [*chain.entities[1:], chain.answer]
        questions = [chain.question for chain in chains("train", hops)]
        assert len(set(questions)) == len(questions) == 2000


def test_a_task_type_is_what_is_asked_for(env: SearchQA):
    tasks = env.tasks("test")
    assert {task.kind for task in tasks} == {
        *("author", "birth", "birthplace", "capital", "country", "currency", "employer", "founder"),
        *("illustrator", "mayor", "publication", "river", "seat", "teacher"),
    }
    asked = next(task for task in tasks if task.difficulty == "4" and task.kind == "mayor")
    assert asked.question.startswith("Who is the mayor of the ")


def test_passages_state_each_fact():
    own = world("valid")
    texts = {one.title: one.text for one in own.passages}
    assert len(texts) == len(own.passages) == 920
    for name, facts in own.facts.items():
        assert all(value in texts[name] for value in facts.values())


def test_a_capital_lies_in_its_country():
    own = world("train")
    for country in own.names["country"]:
        assert own.facts[own.facts[country]["capital"]]["country"] == country


def test_no_entity_is_in_two_splits():
    splits = [set(world(split).kinds) for split in ("train", "valid", "test")]
    assert not splits[0] & splits[1]
    assert not splits[0] & splits[2]
    assert not splits[1] & splits[2]


def test_players_and_the_expert_follow_the_evidence(env: SearchQA):
    won = Counter[str]()
    for number in range(0, 400, 7):
        task = env.tasks("test")[number]
        plays = {"careful": env.demonstrate(task, 1), "careless": env.demonstrate(task, 1, 0.5)}
        plays["expert"] = env.expert(task)
        for name, replies in plays.items():
            env.reset(task, 0)
            results = [env.step(one) for one in replies]
            won[name] += results[-1].reward == 1
            if name == "expert":
                assert results[-1].info["evidence_found"] == 1
    assert won["careful"] == won["expert"] == 58
    assert 5 < won["careless"] < 50


PLAY = """
from agentgym_envs.searchqa import SearchQA
env = SearchQA()
for number in range(0, 400, 41):
    task = env.tasks("test")[number]
    print(task, env.reset(task, 0).text)
    for reply in env.demonstrate(task, 3, 0.7):
        print(env.step(reply).observation.text)
"""


def test_equal_in_processes_with_other_hash_seeds():
    assert len(printed(PLAY)) == 1


# Imports

HOTPOT = {
    "_id": "5a7a",
    "question": "Which river does the town of the brothers Lumiere lie on?",
    "answer": "Rhone",
    "supporting_facts": [["Lumiere", 0], ["Lyon", 0]],
    "context": [["Lumiere", ["The brothers lived", " in Lyon."]], ["Lyon", ["Lyon lies on the Rhone."]]],
    "level": "hard",
    "type": "bridge",
}
COLUMNS = {
    "id": "p1",
    "question": "Who is Ann?",
    "answer": "a painter",
    "supporting_facts": {"title": ["Ann"], "sent_id": [0]},
    "context": {"title": ["Ann"], "sentences": [["Ann is a painter."]]},
    "level": "easy",
}
WIKI = {**HOTPOT, "_id": "w1", "question": "Which sea?", "answer": "Baltic", "evidences": [["a", "b", "c"]]}
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Where was the founder of Acme born?",
    "answer": "Nice",
    "answer_aliases": ["Nizza"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Acme", "paragraph_text": "Acme was founded by Bo.", "is_supporting": True},
        {"idx": 1, "title": "Sea", "paragraph_text": "The sea is deep.", "is_supporting": False},
        {"idx": 2, "title": "Bo", "paragraph_text": "Bo was born in Nice.", "is_supporting": True},
    ],
}
NQ = {"question": "who wrote hamlet", "answer": ["Shakespeare", "William Shakespeare"]}
FLASH = {"id": "test_0", "question": "what is the capital of france", "golden_answers": ["Paris"]}


def lines(path: Path, *records: Any) -> None:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "hotpot_dev_distractor_v1.json").write_text(json.dumps([HOTPOT]))
    (folder / "2wiki_train.json").write_text(json.dumps([WIKI]))
    lines(folder / "musique_ans_v1.0_dev.jsonl", MUSIQUE, {**MUSIQUE, "answerable": False})
    lines(folder / "nq-test.jsonl", NQ, FLASH, {**NQ, "question": "Who wrote Hamlet?"}, "{broken")
    lines(
        folder / "nq-train.jsonl", {**NQ, "question": "Who wrote Hamlet?!"}, {"question": "x", "answer": []}
    )
    lines(
        folder / "wiki.jsonl",
        {"id": "0", "contents": '"Hamlet"\nHamlet is a play by William Shakespeare.'},
        {"title": "Paris", "text": "Paris is the capital of France."},
        {"title": "Paris", "text": "Paris is the capital of France."},
        {"title": "", "text": "nothing"},
    )
    return folder


@pytest.fixture
def home(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("AGENTEVOL_HOME", str(home))
    report = import_official(source, home)
    assert dict(report.counts) == {"test": 2, "train": 1, "valid": 2}
    assert {one.reason for one in report.refused} == {
        "it has no answer in its paragraphs",
        "no JSON: Expecting property name enclosed in double quotes",
        "no answer",
        "title is empty",
    }
    assert verify(home) == []
    return home


@pytest.mark.usefixtures("home")
def test_questions_and_passages_of_each_format():
    env = SearchQA(corpus="imported")
    assert env.splits == ("train", "valid", "test")
    rows = {task.question: task for split in env.splits for task in env.tasks(split)}
    hotpot, musique = rows[HOTPOT["question"]], rows[MUSIQUE["question"]]
    assert (hotpot.split, hotpot.kind, hotpot.difficulty) == ("valid", "hotpotqa", "hard")
    assert hotpot.evidence == ("Lumiere", "Lyon")
    assert (musique.answers, musique.evidence, musique.difficulty) == (
        ("Nice", "Nizza"),
        ("Acme", "Bo"),
        "2",
    )
    assert rows[WIKI["question"]].kind == "2wikimultihopqa"
    assert rows["who wrote hamlet"].answers == ("Shakespeare", "William Shakespeare")
    assert rows["what is the capital of france"].id == "nq-test/test/test_0"
    env.reset(rows["who wrote hamlet"], 0)
    text = env.step("<search>hamlet play</search>").observation.text
    assert text.startswith('<information>Doc 1(Title: "Hamlet") Hamlet is a play by William Shakespeare.')
    env.reset(hotpot, 0)
    told = env.step("<search>Lumiere brothers</search>").observation.text
    assert "(Title: Lumiere) The brothers lived in Lyon." in told
    assert env.step("<answer>the rhone</answer>").info["evidence_found"] == 0.5
    assert env.task(hotpot.id) == hotpot


def test_the_stored_index_finds_what_the_one_in_memory_finds(home: Path):
    told, folder = found(home)
    corpus, _ = opened(folder, told.model_dump_json())
    passages = list(corpus.passages)
    memory = Corpus(passages, BM25(passages))
    for query in ("lyon rhone", "the capital of France", "Bo founder Acme", "sea", "", "zzz"):
        assert memory.search(query, 3) == corpus.search(query, 3)
    assert len(passages) == told.passages == 7


def test_an_import_in_another_order_of_files_has_equal_tasks(home: Path, source: Path, tmp_path: Path):
    other = tmp_path / "copy"
    other.mkdir()
    for path in sorted(source.iterdir(), reverse=True):
        (other / path.name).write_bytes(path.read_bytes())
    import_official(other, tmp_path / "other")
    first, second = (found(one)[0] for one in (home, tmp_path / "other"))
    assert first.model_copy(update={"folder": second.folder}) == second


def test_parquet_has_the_columns_of_the_hub(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist([COLUMNS]), tmp_path / "validation-00000.parquet")
    report = import_official(tmp_path / "validation-00000.parquet", tmp_path / "home")
    assert dict(report.counts) == {"valid": 1}
    told, folder = found(tmp_path / "home")
    corpus, questions = opened(folder, told.model_dump_json())
    assert questions[0].evidence == ("Ann",)
    assert corpus.passages[0] == Passage(title="Ann", text="Ann is a painter.")


def test_an_import_without_passages_or_questions_keeps_what_was_there(home: Path, tmp_path: Path):
    before = found(home)
    lines(tmp_path / "only-test.jsonl", NQ)
    with pytest.raises(SearchQAError, match="has no passages that can be imported"):
        import_official(tmp_path / "only-test.jsonl", home)
    lines(tmp_path / "only.jsonl", {"title": "a", "text": "b"})
    with pytest.raises(SearchQAError, match="has no questions that can be imported"):
        import_official(tmp_path / "only.jsonl", home)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SearchQAError, match="has no files"):
        import_official(tmp_path / "empty", home)
    assert found(home) == before
    assert len([one for one in (home / "searchqa").iterdir() if one.is_dir()]) == 1


def test_a_changed_file_is_found(home: Path):
    _, folder = found(home)
    (folder / "questions.jsonl").write_text("")
    assert [line for line in verify(home) if "questions.jsonl has changed" in line]


# Dense search


def bag(text: str) -> Any:
    """A vector of letters."""
    return np.array([text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"], np.float32)


def test_dense_search_is_by_inner_product_and_ties_by_place():
    vectors = np.array([[1, 0], [0, 1], [1, 0], [0.5, 0.5]], np.float32)
    dense = Dense(vectors, lambda _: np.array([1, 0.1], np.float32))
    assert [place for place, _ in dense.search("x", 4)] == [0, 2, 3, 1]
    assert dense.search("  ", 4) == []
    with pytest.raises(SearchQAError, match=r"has the shape \(3,\), not \(2,\)"):
        Dense(vectors, lambda _: np.zeros(3)).search("x", 1)


def test_vectors_take_the_place_of_bm25(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "letters_of_test.py").write_text(
        "import numpy as np\n"
        "def embed(text):\n"
        "    return np.array([text.lower().count(one) for one in 'abcdefghijklmnopqrstuvwxyz'], np.float32)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    told, folder = found(home)
    corpus, _ = opened(folder, told.model_dump_json())
    np.save(tmp_path / "vectors.npy", np.stack([bag(one.title) for one in corpus.passages]))
    options: dict[str, Any] = {"corpus": "imported", "embed": "letters_of_test:embed"}
    env = SearchQA(vectors=str(tmp_path / "vectors.npy"), **options)
    env.reset(next(iter(env.tasks("test"))), 0)
    assert "Doc 1(Title: Lumiere)" in env.step("<search>Lumiere</search>").observation.text
    np.save(tmp_path / "few.npy", np.zeros((2, 26), np.float32))
    with pytest.raises(SearchQAError, match="has 2 vectors for 7 passages"):
        SearchQA(vectors=str(tmp_path / "few.npy"), **options)
