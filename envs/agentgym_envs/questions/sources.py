"""Records of the files that an import reads: our own questions, GSM8K's and MATH's.

    our own              {"id": "1", "split": "train", "prompt": "What is 3 + 4?", "answer": "7"}
    GSM8K (2110.14168)   {"question": "...", "answer": "48 / 2 = <<48/2=24>>24 clips.\\n#### 24"}
    MATH (2103.03874)    {"problem": "...", "solution": "$\\boxed{2}$", "level": "Level 3", "type": "Algebra"}

The split of a record is its field `split`, or stands in the name of its file or of a folder around it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from agentgym_envs.questions.extraction import last_boxed
from agentgym_envs.questions.files import MOST_LINE
from agentgym_envs.questions.records import Question, QuestionsError, question_of

SPLITS = {
    "train": "train",
    "valid": "valid",
    "val": "valid",
    "validation": "valid",
    "dev": "valid",
    "test": "test",
}
"""Words of names, by the split that they mean."""
NO_SPLIT = "no split: neither a field, nor in the name of the file or of its folder"
MOST_FILES = 1_000_000
_CALCULATION = re.compile(r"<<[^<>\n]{0,200}>>")
_MOST_STEPS = 8


class Place(NamedTuple):
    """A record's place in a source."""

    path: Path
    name: str
    """Path from the source on, with the line in a file of several records."""
    number: int
    """Number of the line, from 1; 0 for a file of one record."""


def places(source: Path) -> Iterator[tuple[Place, bytes]]:
    """All records of a file, or of the files `*.jsonl` and `*.json` of a folder. Raises `OSError`."""
    for path in _files(source):
        name = str(path.relative_to(source.parent))
        with path.open("rb") as file:
            if path.suffix == ".json":
                yield Place(path, name, 0), file.read(MOST_LINE + 1)
            else:
                lines = enumerate(_lines(file), start=1)
                yield from ((Place(path, f"{name}:{at}", at), line) for at, line in lines if line.strip())


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is too long, the beginning, which is still too long."""
    while line := file.readline(MOST_LINE + 1):
        while not line.endswith(b"\n") and (rest := file.readline(MOST_LINE)):
            line = line[:MOST_LINE] + rest[-1:]
        yield line


def split_of(fields: Mapping[str, Any], name: str) -> str | None:
    """Split of a record: its field `split`, or the last word of a `name` that means one; or None."""
    told = fields.get("split")
    if isinstance(told, str):
        return SPLITS.get(told.lower(), told)
    words = reversed(re.split(r"[^A-Za-z0-9]+", name.lower()))
    return next((SPLITS[word] for word in words if word in SPLITS), None)


def question_in(place: Place, line: bytes, verifier: str) -> Question:
    """The question of a record. Raises `QuestionsError`, without its place."""
    if len(line) > MOST_LINE:
        raise QuestionsError(f"it has more than {MOST_LINE:,} bytes")
    try:
        text = line.decode("utf-8-sig")
        raw: object = json.loads(text)
    except UnicodeDecodeError as cause:
        raise QuestionsError(f"not UTF-8 at byte {cause.start}") from None
    except (ValueError, RecursionError) as cause:
        raise QuestionsError(f"no JSON: {getattr(cause, 'msg', 'it is nested too deeply')}") from None
    if not isinstance(raw, dict):
        raise QuestionsError(f"a {type(raw).__name__}, not an object")
    fields = cast("dict[str, Any]", raw)
    if "problem" in fields:
        return _checked(_of_math(place, fields), "math")
    if "question" in fields and "prompt" not in fields:
        return _checked(_of_gsm8k(place, fields), "number")
    own = {"split": _split(place, fields), **fields} if "split" not in fields else fields
    return _checked(own, verifier)


def _checked(fields: Mapping[str, Any], verifier: str) -> Question:
    found = question_of(json.dumps(fields), verifier)
    return found if found.verifier else found.model_copy(update={"verifier": verifier})


def _of_gsm8k(place: Place, fields: Mapping[str, Any]) -> dict[str, Any]:
    told = _text(fields, "answer")
    worked, mark, answer = told.rpartition("####")
    if not mark:
        raise QuestionsError("answer: no '####' before the final answer")
    split = _split(place, fields)
    steps = min(max(1, len(_CALCULATION.findall(worked))), _MOST_STEPS)
    return {
        "id": f"gsm8k/{split}/{place.number}",
        "split": split,
        "prompt": _text(fields, "question"),
        "answer": answer.strip(),
        "kind": "gsm8k",
        "difficulty": str(steps),
        "solution": _CALCULATION.sub("", told),
    }


def _of_math(place: Place, fields: Mapping[str, Any]) -> dict[str, Any]:
    solution = _text(fields, "solution")
    answer = fields.get("answer")
    boxed = answer if isinstance(answer, str) else last_boxed(solution)
    if boxed is None:
        raise QuestionsError("solution: no closed \\boxed{...} with the answer")
    kind = str(fields.get("type") or fields.get("subject") or "math").lower().replace(" ", "_")
    split = _split(place, fields)
    own = fields.get("unique_id") or (place.path.stem if not place.number else place.number)
    return {
        "id": f"math/{split}/{kind}/{own}",
        "split": split,
        "prompt": _text(fields, "problem"),
        "answer": boxed.strip(),
        "kind": kind,
        "difficulty": str(fields.get("level", "")).removeprefix("Level").strip(" ?"),
        "solution": solution,
    }


def _split(place: Place, fields: Mapping[str, Any]) -> str:
    found = split_of(fields, place.name.partition(":")[0])
    if found is None:
        raise QuestionsError(NO_SPLIT)
    return found


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise QuestionsError(
            f"{name}: a {type(value).__name__}, not text" if value is not None else f"no {name}"
        )
    return value


def _files(source: Path) -> Sequence[Path]:
    """Files of a source, sorted. Raises `QuestionsError` for too many, and for none."""
    if source.is_file():
        return [source]
    found = sorted(
        path for path in source.rglob("*") if path.suffix in (".json", ".jsonl") and path.is_file()
    )
    if not found:
        raise QuestionsError(f"{source} has no file *.jsonl or *.json")
    if len(found) > MOST_FILES:
        raise QuestionsError(f"{source} has more than {MOST_FILES:,} files")
    return found
