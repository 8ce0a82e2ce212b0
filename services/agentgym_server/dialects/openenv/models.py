"""Messages of the OpenEnv dialect as models: their fields are the wire's, and `/schema` shows them.

{"text": "go to desk 1"}                                                  an action
{"type": "call_tool", "tool_name": "get_projects", "arguments": {}}       where there are tools
{"text": "You arrive at desk 1.", "info": {}, "metadata": {"turn": 1}}    an observation
"""

from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import ECHO_LIMIT, clipped

MAX_ERRORS = 16
NO_OBJECT = (
    "model_attributes_type",
    "Input should be a valid dictionary or object to extract fields from",
)
ModelT = TypeVar("ModelT", bound=BaseModel)


class Strict(BaseModel):
    """Model with strict types whose unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Open(BaseModel):
    """Model with strict types whose unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)


class TextAction(Strict):
    """Action of the agent, in the environment's words."""

    text: str
    metadata: dict[str, Any] = {}


class CallTool(Strict):
    """A call of one of the environment's tools."""

    type: Literal["call_tool"]
    tool_name: str
    arguments: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class ListTools(Strict):
    """Request for the list of tools; no turn is taken."""

    type: Literal["list_tools"]
    metadata: dict[str, Any] = {}


Action = TextAction | CallTool | ListTools
TOOL_ACTIONS: dict[object, type[CallTool] | type[ListTools]] = {
    "call_tool": CallTool,
    "list_tools": ListTools,
}


class TextObservation(Strict):
    """Observation of the agent; reward and done stand beside it."""

    text: str
    info: dict[str, Any]
    metadata: dict[str, Any]


class ToolError(Strict):
    """Error of a tool call without a result."""

    error_type: Literal["execution_error", "invalid_args", "transport_error", "tool_not_found", "timeout"]
    message: str


class ToolObservation(Strict):
    """Result of a tool call."""

    tool_name: str
    result: Any
    error: ToolError | None
    metadata: dict[str, Any]


class Tool(Strict):
    """One tool in a list of them."""

    name: str
    description: str
    input_schema: dict[str, Any]


class ToolsObservation(Strict):
    """The tools of the environment."""

    tools: list[Tool]
    metadata: dict[str, Any]


class State(Strict):
    """State of an episode."""

    episode_id: str
    step_count: int
    task_id: str
    turn: int
    terminated: bool
    truncated: bool


class ResetOptions(Open):
    """Options of the next episode; without a task, `seed` draws one from the split."""

    seed: Annotated[int, Field(ge=0, le=2**53 - 1)] | None = None
    episode_id: Annotated[str, Field(max_length=255)] | None = None
    task_id: str | None = None
    split: str | None = None
    index: Annotated[int, Field(ge=0)] | None = None
    format: str | None = None
    """If set, actions are raw completions in this format."""
    session_id: str | None = None


class StepOptions(Open):
    """The body of a step over HTTP."""

    action: dict[str, Any]
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    request_id: Annotated[str, Field(max_length=255)] | None = None
    session_id: str | None = None


class ResetMessage(Strict):
    """Start an episode."""

    type: Literal["reset"]
    data: dict[str, Any] = {}


class StepMessage(Strict):
    """Play an action."""

    type: Literal["step"]
    data: dict[str, Any]


class StateMessage(Strict):
    """Request the state of the episode."""

    type: Literal["state"]


class CloseMessage(Strict):
    """Close the session."""

    type: Literal["close"]


class RpcMessage(Strict):
    """A JSON-RPC request in a frame."""

    type: Literal["mcp"]
    data: dict[str, Any]


class RpcRequest(Strict):
    """A JSON-RPC request."""

    jsonrpc: Literal["2.0"]
    method: str
    params: dict[str, Any] = {}
    id: str | int | None = None


class ListTasks(Strict):
    """Arguments of a list of tasks: the split."""

    split: str


class GetTask(Strict):
    """Arguments of one task: split and index."""

    split: str
    index: int


class GetTaskRange(Strict):
    """Arguments of a range of tasks: the split and a Python slice."""

    split: str
    start: int | None = None
    stop: int | None = None


class Invalid(Exception):
    """Value that does not match its model; `errors` are listed as in OpenEnv and FastAPI."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__(errors[0]["msg"])
        self.errors = errors


def parsed(model: type[ModelT], value: object, *where: str) -> ModelT:
    """The value as its model; raises `Invalid`, with `where` before every location."""
    try:
        return model.model_validate(value)
    except ValidationError as cause:
        rows = cause.errors(include_url=False, include_context=False)[:MAX_ERRORS]
    raise Invalid([_wrong(row, where) for row in rows])


def wrong(kind: str, text: str, where: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """One error; a large value is clipped."""
    location = [clipped(part) if isinstance(part, str) else part for part in where]
    return {"type": kind, "loc": location, "msg": clipped(text), "input": _shown(value)}


def parsed_action(data: dict[str, Any], tools: bool, *where: str) -> Action:
    """The action; raises `Invalid`. `tools`: True if the environment has tools."""
    kind = data.get("type")
    model = TOOL_ACTIONS.get(kind, TextAction) if tools and isinstance(kind, str) else TextAction
    return parsed(model, data, *where)


def schemas(tools: bool) -> dict[str, Any]:
    """The JSON schemas of an environment with or without tools."""
    actions = cast("Any", Action if tools else TextAction)
    observations = cast(
        "Any", TextObservation | ToolObservation | ToolsObservation if tools else TextObservation
    )
    return {
        "action": TypeAdapter[Any](actions).json_schema(),
        "observation": TypeAdapter[Any](observations).json_schema(),
        "reset_observation": TextObservation.model_json_schema(),
        "state": State.model_json_schema(),
    }


def _wrong(row: ErrorDetails, where: tuple[str, ...]) -> dict[str, Any]:
    if row["type"] == "model_type":  # its text names the model
        return wrong(*NO_OBJECT, (*where, *row["loc"]), row["input"])
    return wrong(row["type"], row["msg"], (*where, *row["loc"]), row["input"])


def _shown(value: object) -> object:
    text = strict_json.dump(value)
    return value if len(text) <= ECHO_LIMIT else clipped(text.decode())
