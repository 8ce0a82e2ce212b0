"""Lines of a file of questions, JSON Lines of `Question`.

{"id": "17", "split": "train", "prompt": "What is 3 + 4?", "answer": "7", "kind": "sum", "difficulty": "easy"}
"""

import json
import re
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError

from agentgym_envs.core import Record
from agentgym_envs.questions.verifiers import NONE, VERIFIERS, can_read

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
MOST_PROMPT = 100_000
MOST_ANSWER = 10_000
_FOREIGN = (({"question", "answer"}, "GSM8K"), ({"problem", "solution"}, "MATH"))
"""Fields of the files of data sets that `agentevol data import questions` reads."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class QuestionsError(ValueError):
    """A file of questions is not valid; the message is one line that names the file and the line."""


class Question(Record):
    """A question with its answer."""

    id: Annotated[str, Field(min_length=1, max_length=256)]
    """Unique in the file, without control characters."""
    split: Name
    """Split, for example `train`, `valid` or `test`."""
    prompt: Annotated[str, Field(min_length=1, max_length=MOST_PROMPT)]
    """Text that the agent reads."""
    answer: Annotated[str, Field(max_length=MOST_ANSWER)] = ""
    """Right answer, of which the verifier makes a value; empty only with the verifier `none`."""
    kind: str = ""
    difficulty: Annotated[str, Field(max_length=64)] = ""
    verifier: str | None = None
    """Verifier of this package for this question; None is that of the environment's options."""
    solution: str = ""
    """Worked solution, which the expert says; without one it says the answer alone."""

    @property
    def content(self) -> str:
        """The prompt without differences of case and white space: equal ones are the same question."""
        return " ".join(self.prompt.casefold().split())


def question_of(line: str, verifier: str) -> Question:
    """The question of a line. Raises `QuestionsError`, without a place, for one that is none, and for an
    answer that its verifier cannot read.
    """
    raw = _parsed(line)
    try:
        found = Question.model_validate(raw)
    except ValidationError as cause:
        raise QuestionsError(_complaint(raw, cause)) from None
    if _CONTROL.search(found.id):
        raise QuestionsError("id: a control character")
    if not found.prompt.strip():
        raise QuestionsError("prompt: only white space")
    named = found.verifier or verifier
    if found.verifier is not None and found.verifier not in (*VERIFIERS, NONE):
        raise QuestionsError(
            f"verifier: {found.verifier[:80]!r} is not one of {', '.join((*VERIFIERS, NONE))}"
        )
    if not can_read(named, found.answer):
        raise QuestionsError(f"answer: the verifier {named!r} cannot read {found.answer[:80]!r}")
    return found


def _parsed(line: str) -> dict[str, Any]:
    try:
        raw: object = json.loads(line)
    except (ValueError, RecursionError) as cause:
        reason = getattr(cause, "msg", "it is nested too deeply")
        raise QuestionsError(f"no JSON: {reason}") from None
    if not isinstance(raw, dict):
        raise QuestionsError(f"a {type(raw).__name__}, not an object")
    return _with_texts(cast("dict[str, Any]", raw))


def _with_texts(raw: dict[str, Any]) -> dict[str, Any]:
    """Numbers as ids, answers and levels, which files often have, as text."""
    names = ("id", "answer", "difficulty")
    numbers = {name: raw[name] for name in names if isinstance(raw.get(name), int | float)}
    return raw | {name: json.dumps(value) for name, value in numbers.items() if not isinstance(value, bool)}


def _complaint(raw: dict[str, Any], cause: ValidationError) -> str:
    for fields, name in _FOREIGN:
        if fields <= raw.keys() and "prompt" not in raw:
            return f"a record of {name}'s form: import it with `agentevol data import questions PATH`"
    error = cause.errors()[0]
    field = ".".join(map(str, error["loc"]))
    if error["type"] == "missing":
        return f"no {field}"
    return f"{field}: {error['msg']}"
