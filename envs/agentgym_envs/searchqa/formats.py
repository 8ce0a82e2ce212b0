"""Records of the files that an import reads: passages, and questions of several data sets.

passages                     {"title": "Lyon", "text": "..."}; {"id": "0", "contents": "Lyon\\n..."}
HotpotQA (1809.09600),       {"_id", "question", "answer", "supporting_facts": [["Lyon", 0]],
2WikiMultiHop (2011.01060)    "context": [["Lyon", ["...", "..."]]]}, or with columns, as in Parquet
MuSiQue (2108.00573)         {"id": "2hop__...", "question", "answer", "answer_aliases",
                              "paragraphs": [{"title", "paragraph_text", "is_supporting"}]}
NQ and others (1906.00300)   {"question", "answer": ["..."]}; {"question", "golden_answers": ["..."]}
our own                      {"question", "answers": ["..."], "evidence": ["Lyon"]}
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from agentgym_envs.questions.sources import NO_SPLIT, split_of
from agentgym_envs.searchqa.records import Passage, SearchQAError, SearchQuestion

SUFFIXES: Final = (".jsonl", ".json", ".parquet")
_HOPS = re.compile(r"([1-9])hop")


@dataclass(frozen=True)
class Found:
    """Content of a record: passages, and a question or none."""

    passages: tuple[Passage, ...] = ()
    question: SearchQuestion | None = None


def files(source: Path) -> list[Path]:
    """Files of a source, sorted. Raises `SearchQAError`, and `OSError`."""
    if source.is_file():
        return [source]
    found = sorted(path for path in source.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    if not found:
        raise SearchQAError(f"{source} has no files {', '.join(f'*{suffix}' for suffix in SUFFIXES)}")
    return found


def records(path: Path) -> Iterator[tuple[int, object]]:
    """Records of a file with their numbers, the bad lines of JSON Lines as `SearchQAError`.

    A file `*.json` is one list, which is read as a whole. Raises `SearchQAError`, and `OSError`.
    """
    readers: dict[str, Callable[[Path], Iterable[object]]] = {".parquet": _rows, ".json": _list}
    yield from enumerate(readers.get(path.suffix, _lines)(path), 1)


def read(raw: object, path: Path, number: int) -> Found:
    """Content of a record. Raises `SearchQAError`, without its place."""
    if isinstance(raw, SearchQAError):
        raise raw
    if not isinstance(raw, Mapping):
        raise SearchQAError(f"a {type(raw).__name__}, not an object")
    fields = cast("Mapping[str, Any]", raw)
    if "question" not in fields:
        return Found((_passage(fields),))
    if "paragraphs" in fields:
        return _of_musique(fields, path, number)
    if "context" in fields:
        return _of_hotpot(fields, path, number)
    return Found(question=_plain(fields, path, number))


def _passage(fields: Mapping[str, Any]) -> Passage:
    contents = fields.get("contents")
    if isinstance(contents, str):
        title, _, text = contents.partition("\n")
        return Passage(title=_some(title, "the first line of contents"), text=text)
    text = fields.get("text", fields.get("paragraph_text"))
    return Passage(title=_text(fields, "title"), text=_text({"text": text}, "text"))


def _of_hotpot(fields: Mapping[str, Any], path: Path, number: int) -> Found:
    context: Any = fields["context"]
    facts: Any = fields.get("supporting_facts") or []
    if isinstance(context, dict):  # columns
        columns = cast("dict[str, Any]", context)
        context = list(zip(columns["title"], columns["sentences"], strict=True))
    titles = cast("list[str]", facts["title"] if isinstance(facts, dict) else [one[0] for one in facts])
    passages = tuple(Passage(title=title, text="".join(sentences).strip()) for title, sentences in context)
    has_facts = "evidences" in fields
    found = _question(
        fields,
        path,
        number,
        answers=[_text(fields, "answer")],
        evidence=titles,
        kind="2wikimultihopqa" if has_facts else "hotpotqa",
        difficulty=str(fields.get("level") or fields.get("type") or ""),
    )
    return Found(passages, found)


def _of_musique(fields: Mapping[str, Any], path: Path, number: int) -> Found:
    passages = tuple(_passage(one) for one in fields["paragraphs"])
    if fields.get("answerable") is False:
        raise SearchQAError("it has no answer in its paragraphs")
    hops = _HOPS.match(str(fields.get("id", "")))
    found = _question(
        fields,
        path,
        number,
        answers=[_text(fields, "answer"), *fields.get("answer_aliases", [])],
        evidence=[one["title"] for one in fields["paragraphs"] if one.get("is_supporting")],
        kind="musique",
        difficulty=hops[1] if hops else "",
    )
    return Found(passages, found)


def _plain(fields: Mapping[str, Any], path: Path, number: int) -> SearchQuestion:
    answers = fields.get("answers", fields.get("golden_answers", fields.get("answer")))
    if isinstance(answers, str):
        answers = [answers]
    if answers is None:
        raise SearchQAError("no answer")
    kind = fields.get("kind") or fields.get("data_source") or path.stem
    return _question(
        fields,
        path,
        number,
        answers=list(answers),
        evidence=fields.get("evidence") or [],
        kind=str(kind),
        difficulty=str(fields.get("difficulty") or ""),
    )


def _question(
    fields: Mapping[str, Any],
    path: Path,
    number: int,
    *,
    answers: list[str],
    evidence: list[str],
    kind: str,
    difficulty: str,
) -> SearchQuestion:
    split = split_of(fields, f"{path.parent.name}/{path.stem}")
    if split is None:
        raise SearchQAError(NO_SPLIT)
    own = fields.get("id") or fields.get("_id") or number
    right = list(dict.fromkeys(str(one).strip() for one in answers if str(one).strip()))
    if not right:
        raise SearchQAError("no answer")
    return SearchQuestion(
        id=f"{kind}/{split}/{own}"[:200],
        split=split,
        question=_text(fields, "question"),
        answers=tuple(right),
        evidence=tuple(dict.fromkeys(str(one) for one in evidence)),
        kind=kind,
        difficulty=difficulty,
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise SearchQAError(f"no {name}" if value is None else f"{name}: a {type(value).__name__}, not text")
    return _some(value.strip(), name)


def _some(text: str, name: str) -> str:
    if not text:
        raise SearchQAError(f"{name} is empty")
    return text


def _lines(path: Path) -> Iterator[object]:
    with path.open("rb") as file:
        yield from (_parsed(line) for line in file if line.strip())


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as cause:
        return SearchQAError(f"no JSON: {getattr(cause, 'msg', cause)}")


def _list(path: Path) -> Sequence[object]:
    try:
        raw: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as cause:
        raise SearchQAError(f"{path} is no JSON: {getattr(cause, 'msg', cause)}") from None
    return cast("list[object]", raw) if isinstance(raw, list) else [raw]


def _rows(path: Path) -> Iterator[object]:
    try:
        parquet: Any = import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise SearchQAError(f"{path} needs pyarrow: pip install 'agentevol[store]'") from None
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1024):
            yield from batch.to_pylist()
