"""Registry of action formats: `environment.format` of the configuration.

action_format("react").parse("Thought: a mug?\\n\\nAction: look")

A user's format is given as `environment.format = "module:attribute"`, or registered by an entry point of the
group `agentevol.action_formats`: an object, or a class without arguments.
"""

from inspect import signature
from typing import Any

from agentevol.core.errors import ConfigError, FormatFault, described, one_line
from agentevol.core.extensions import Extensions
from agentevol.core.protocols import Message
from agentgym_envs.formats import ActionFormat
from agentgym_envs.thinking import HEADERS

ACTION_FORMATS = Extensions(
    "action format",
    "agentevol.action_formats",
    {
        "plain": "agentgym_envs.formats:Plain",
        "react": "agentgym_envs.formats:React",
        "modes": "agentgym_envs.formats:Modes",
        **{f"modes-{mode}": f"agentgym_envs.formats:MODES_{mode}" for mode in HEADERS},
    },
)
"""Action formats by name: `agentgym_envs.formats.ActionFormat`."""

METHODS = ("instruction", "parse", "render")


class CheckedFormat:
    """Action format whose errors are `FormatFault`: an episode that meets one fails, without a reward.

    All calls of a format pass through here.
    """

    def __init__(self, name: str, form: ActionFormat) -> None:
        self.name, self._form = name, form

    @property
    def beginning(self) -> str:
        """Text that every message is made to begin with; empty in most formats."""
        return self._text("beginning", getattr(self._form, "beginning", ""))

    @property
    def modes(self) -> tuple[int, ...]:
        """Thinking modes that messages may have (`agentgym_envs.thinking`); () in most formats."""
        return tuple(getattr(self._form, "modes", ()))

    def facts(self, text: str) -> dict[str, object]:
        """Facts about a message that join the environment's `info`; none in most formats."""
        return dict(self._called("facts", text)) if hasattr(self._form, "facts") else {}

    def instruction(self, environment_name: str) -> str | None:
        """Instruction for an agent about its replies; None if there is none."""
        found = self._called("instruction", environment_name)
        return None if found is None else self._text("instruction", found)

    def parse(self, text: str) -> str:
        """The action in a message of the agent; may be empty.

        Lone surrogates, which an escape in JSON may contain and no request can, become question marks.
        """
        action = self._text("parse", self._called("parse", text))
        return action.encode("utf-8", "replace").decode("utf-8")

    def render(self, action: str) -> str:
        """The message of an agent that takes this action."""
        return self._text("render", self._called("render", action))

    def _called(self, method: str, argument: str) -> Any:
        try:
            return getattr(self._form, method)(argument)
        except Exception as cause:  # whatever a user's format raises
            raise FormatFault(f"action format {self.name!r}: {method} raised {described(cause)}") from cause

    def _text(self, method: str, found: Any) -> str:
        if not isinstance(found, str):
            kind = type(found).__name__
            raise FormatFault(f"action format {self.name!r}: {method} gave {kind}, not text")
        return found


def action_format(name: str) -> CheckedFormat:
    """The action format of this name: the package's own, an entry point's, or `module:attribute`.

    Raises `ConfigError` where there is none, and for an object that is none.
    """
    return CheckedFormat(name, loaded_format(name))


def loaded_format(name: str) -> ActionFormat:
    """The object behind a name; a class is instantiated. Raises `ConfigError` as `action_format` does."""
    found = ACTION_FORMATS.load(name)
    if isinstance(found, type):
        try:
            found = found()
        except Exception as cause:  # whatever a user's class raises
            raise ConfigError(f"action format {name!r} cannot be created: {one_line(cause)}") from cause
    if not isinstance(getattr(found, "name", None), str):
        raise ConfigError(f"action format {name!r} has no name")
    for method in METHODS:
        _check_method(name, found, method)
    return found


def opening_messages(form: ActionFormat, env: str, observation: str) -> list[Message]:
    """First messages of an episode: the format's instruction, where there is one, and the observation."""
    instruction = form.instruction(env)
    system = [Message("system", instruction)] if instruction else []
    return [*system, Message("user", observation)]


def _check_method(name: str, form: Any, method: str) -> None:
    """Raise `ConfigError` unless the method takes one positional argument and needs no other."""
    found = getattr(form, method, None)
    if not callable(found):
        raise ConfigError(f"action format {name!r} has no method {method!r}")
    try:
        signature(found).bind("")
    except (TypeError, ValueError) as cause:
        raise ConfigError(f"action format {name!r}: {method} takes one text: {cause}") from cause
