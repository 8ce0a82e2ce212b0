"""Tools: typed Python functions over a state, whose signatures and docstrings are the schemas.

> @tool("write")
> def add_note(notes: list[str], text: Annotated[str, Field(max_length=200)]) -> str:
>     '''Add a note.
>
>     Args:
>         text: Text of the note.
>     '''
>     notes.append(text)
>     return "added"
> add_note.parameters["properties"]
{'text': {'type': 'string', 'maxLength': 200, 'description': 'Text of the note.'}}
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from agentgym_envs.tooluse.arguments import Check, compiled
from agentgym_envs.tooluse.signatures import described, parameters_of, returned

Kind = Literal["read", "write", "generic", "control"]
"""`read` leaves the state as it is; `write` may change it; `generic` does not use it (a calculator, a
question to the user); `control` is about the episode (submit, finish).
"""


@dataclass(frozen=True)
class Tool:
    """A tool. `run` takes the state, then the arguments by name; it returns a JSON value or raises
    `ToolError`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of type object."""
    kind: Kind
    run: Callable[..., Any]
    returns: Mapping[str, Any] | None = None
    """JSON schema of the result, if it is known."""

    @cached_property
    def check(self) -> Check:
        """Function that validates and coerces the arguments."""
        return compiled(self.parameters)

    @cached_property
    def function(self) -> dict[str, Any]:
        """The schema in OpenAI's form."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the arguments that a call must have."""
        return tuple(self.parameters.get("required", ()))


class Toolset(Mapping[str, Tool]):
    """Tools by name, in the order in which they are listed; equal to itself only.

    Raises `ValueError` for a name given twice.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = dict[str, Tool]()
        for one in tools:
            if one.name in self._tools:
                raise ValueError(f"two tools are called {one.name!r}")
            self._tools[one.name] = one

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @cached_property
    def functions(self) -> tuple[dict[str, Any], ...]:
        """The schemas in OpenAI's form."""
        return tuple(tool.function for tool in self.values())

    def of_kind(self, *kinds: Kind) -> list[Tool]:
        """The tools of these kinds."""
        return [tool for tool in self.values() if tool.kind in kinds]

    @classmethod
    def merged(cls, toolsets: Iterable["Toolset"]) -> "Toolset":
        """The tools of several toolsets; of those with one name, the first."""
        found = dict[str, Tool]()
        for one in chain.from_iterable(toolset.values() for toolset in toolsets):
            found.setdefault(one.name, one)
        return cls(found.values())

    def without(self, names: Iterable[str]) -> "Toolset":
        """The tools that are not named."""
        left_out = set(names)
        return Toolset(tool for tool in self.values() if tool.name not in left_out)


def tool(kind: Kind, name: str | None = None) -> Callable[[Callable[..., Any]], Tool]:
    """Decorator that makes a tool of a function whose first parameter is the state.

    Its other parameters are the arguments: JSON types, `Literal`, `TypedDict`, and bounds as pydantic's
    `Field` states them. The docstring is Google's: a description, and `Args:` with a line per argument.

    Raises `TypeError` for a parameter without a type or description, or of a type that JSON does not have.
    """

    def make(function: Callable[..., Any]) -> Tool:
        documentation = described(function)
        return Tool(
            name=name or function.__name__,
            description=documentation.text,
            parameters=parameters_of(function, documentation.arguments),
            kind=kind,
            run=function,
            returns=returned(function),
        )

    return make
