"""Judges that can be asked questions of any kind: models behind endpoints."""

from collections.abc import Mapping
from typing import Any

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentevol.data.judgements.judges.interface import ItemJudge
from agentevol.data.judges.answers import AnswerError, object_in
from agentgym_envs.endpoints.records import Said
from agentgym_envs.formats import after_thinking


def model_judge(judge: ItemJudge, what: str) -> EndpointJudge:
    """The judge, if it is a model. Raises `ConfigError`."""
    if not isinstance(judge, EndpointJudge):
        raise ConfigError(f"{what} are judged by models, as openai:NAME, and not by {judge.name!r}")
    return judge


def told_in(said: Said) -> str:
    """The answer without what a thinking model thought before it."""
    return after_thinking(said.content or "").strip()


def text_in(told: Mapping[str, Any], name: str) -> str:
    """A text of an answer. Raises `AnswerError`."""
    value = told.get(name)
    if not isinstance(value, str):
        raise AnswerError(f"{name!r} is {value!r}, not a text"[:200])
    return value.strip()


def members_in(said: Said) -> Mapping[str, Any]:
    """The JSON object of an answer. Raises `AnswerError`."""
    return object_in(told_in(said))
