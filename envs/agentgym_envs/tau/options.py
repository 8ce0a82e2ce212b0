"""Types of the options that the tau domains share, with their descriptions."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from agentgym_envs.options import PRIVATE
from agentgym_envs.tau.judging.judge import JudgeModel
from agentgym_envs.tau.users import UserMode, UserModel

UserOption = Annotated[
    UserMode,
    Field(
        description="The customer: nobody (`solo`: the agent reads a ticket), one sentence (`stub`), rules"
        " over the scenario (`scripted`), or a model (`llm`)."
    ),
]
UserModelOption = Annotated[
    UserModel | Mapping[str, Any] | str | None,
    AfterValidator(UserModel.checked),
    Field(
        description="Endpoint of the user `llm`, as a JSON object with `base_url` and `model`.",
        json_schema_extra=PRIVATE,
    ),
]
JudgeModelOption = Annotated[
    JudgeModel | Mapping[str, Any] | str | None,
    AfterValidator(JudgeModel.checked),
    Field(
        description="Endpoint that judges statements about the dialogue, as a JSON object with `base_url` and"
        " `model`; by default nobody does.",
        json_schema_extra=PRIVATE,
    ),
]
Strict = Annotated[
    bool, Field(description="Add conditions to the benchmark's reward, which pays for less than a task asks.")
]
Trainable = Annotated[
    bool, Field(description="Leave out tasks that doing nothing solves or whose published solution fails.")
]
ShowsPolicy = Annotated[bool, Field(description="Put the policy into the first observation.")]
UpstreamQuirks = Annotated[bool, Field(description="Reproduce known mistakes of the benchmark's tools.")]
