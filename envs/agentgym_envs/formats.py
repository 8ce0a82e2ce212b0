"""Action formats: parsers from an agent's whole message to the action that an environment reads.

`plain`: the message is the action. `react`: a thought, then an action, in AgentGym's form:

    Thought:
    I should look in the fridge.

    Action:
    open fridge 1

The reasoning of a thinking model before its answer is no action in either:

    <think>
    The fridge first. Action: go to sofa 1? No.
    </think>

    open fridge 1

`modes`: a level of thinking, its sections and an answer in quotes, AMPO's template
(`agentgym_envs.thinking`). The answer is the action; what was thought stays in the agent's own message.
`modes-1` to `modes-4`: the same, where every reply is made to begin with this level.

A format never fails: text that it cannot parse becomes an action that the environment answers as an invalid
one.
"""

from typing import Protocol

from agentgym_envs import thinking

END_OF_SEQUENCE = "</s>"
THINKING, THOUGHT = "<think>", "</think>"
"""Tags of reasoning of Qwen3, DeepSeek-R1 and others; a template may have opened the first one for the
model.
"""
WEBSHOP_ACTIONS = ("search[", "click[")


class ActionFormat(Protocol):
    """Instruction, parser and renderer of an action format; one object serves all episodes at once.

    An action is one text. Several tool calls of a turn are one action too: the JSON that the environment
    reads.
    """

    name: str

    def instruction(self, environment_name: str) -> str | None:
        """Instruction for an agent about its replies; None if there is none."""
        ...

    def parse(self, text: str) -> str:
        """The action in a message of the agent; may be empty. Pure, quick, and never raises."""
        ...

    def render(self, action: str) -> str:
        """The message of an agent that takes this action; `parse` restores the action.

        Raises `ValueError` for an action that no message of this format expresses.
        """
        ...


class Plain:
    """The whole message is the action."""

    name = "plain"

    def instruction(self, environment_name: str) -> str | None:
        """None: no instruction is needed."""
        return None

    def parse(self, text: str) -> str:
        """The message without reasoning and surrounding white space."""
        return after_thinking(text).strip()

    def render(self, action: str) -> str:
        """The action itself."""
        return _expressed(self, action, action)


class React:
    """A thought, then an action; the parser is AgentGym's, shared by webshop, alfworld and sciworld."""

    name = "react"

    def instruction(self, environment_name: str) -> str | None:
        """The template of a reply."""
        return (
            f"You are an agent in the environment {environment_name}. In each turn, think first, then act. "
            f'Your reply must have this form:\n\n"{render_react("your thoughts.", "your next action")}"'
        )

    def parse(self, text: str) -> str:
        """The text after the last `Action:` after any reasoning; see `split_react`."""
        return split_react(after_thinking(text))[1]

    def render(self, action: str) -> str:
        """A message with an empty thought."""
        return _expressed(self, action, render_react("", action))


class Modes:
    """One of AMPO's four thinking modes in each reply (arXiv:2505.02156); the answer is the action.

    With `mode` every reply is in this one: `beginning` is put before what the policy samples.
    """

    def __init__(self, mode: int | None = None) -> None:
        self.name = "modes" if mode is None else f"modes-{mode}"
        self.modes = tuple(thinking.HEADERS) if mode is None else (mode,)
        """Modes that replies may have."""
        self.beginning = "" if mode is None else thinking.opening(mode)
        """Text that every reply is made to begin with."""

    def instruction(self, environment_name: str) -> str | None:
        """The four modes with their sections, and the template of a reply."""
        modes = "\n".join(
            f"Level {mode}: {title}" + (f" ({', '.join(thinking.HEADERS[mode])})" if mode > 1 else "")
            for mode, title in thinking.NAMES.items()
        )
        sections = tuple("..." for _ in thinking.HEADERS[2])
        return (
            f"You are an agent in the environment {environment_name}. In each turn choose how much to think, "
            f"by one of four levels:\n\n{modes}\n\nLevel 1 answers at once. The others first write their "
            "sections, in this order. The answer stands in quotes, and contains no other quotes. Replies of "
            f"level 1 and 2:\n\n{thinking.render(1, (), 'your action')}\n\n"
            f"{thinking.render(2, sections, 'your action')}"
        )

    def parse(self, text: str) -> str:
        """The answer, read leniently (`agentgym_envs.thinking.extract`); empty where there is none."""
        return thinking.extract(after_thinking(text)) or ""

    def render(self, action: str) -> str:
        """A reply of level 1, or of the only mode, whose sections are empty."""
        mode = self.modes[0]
        message = thinking.render(mode, [""] * len(thinking.HEADERS[mode]), action)
        return _expressed(self, action, message)

    def facts(self, text: str) -> dict[str, object]:
        """The mode of a message, checked strictly: -1, an invalid action and the fault where it is malformed
        or not in one of `modes`.
        """
        reply = thinking.check(after_thinking(text), strict=True)
        if reply.mode in self.modes:
            return {"mode": reply.mode}
        return {"mode": -1, "invalid_action": True, "fault": reply.fault or "other_level"}


def after_thinking(text: str) -> str:
    """The text after the reasoning of a message; empty if reasoning began and did not end."""
    return text.rpartition(THOUGHT)[2].partition(THINKING)[0]


def render_thinking(thought: str, action: str) -> str:
    """A message with reasoning, then an action; `after_thinking` restores the action."""
    return f"{THINKING}{thought}{THOUGHT}{action}"


def split_react(text: str) -> tuple[str, str]:
    """Thought and action of a message; both may be empty.

    Rules of AgentGym's ReAct adapter: a trailing `</s>` goes; the last `Action:` divides; without one the
    whole text is the action if it contains `search[` or `click[`, and the action is empty otherwise.
    """
    message = text.removesuffix(END_OF_SEQUENCE)
    left, marker, right = message.rpartition("Action:")
    if not marker:
        left, right = message, message if any(action in message for action in WEBSHOP_ACTIONS) else ""
    pieces = left.split("Thought:")
    return pieces[1 if len(pieces) > 1 else 0].strip(), right.strip()


def render_react(thought: str, action: str) -> str:
    """The canonical message of a thought and an action; `split_react` restores both."""
    return f"Thought:\n{thought}\n\nAction:\n{action}"


def _expressed(form: ActionFormat, action: str, message: str) -> str:
    """The message. Raises `ValueError` where its action is another one."""
    if form.parse(message) != action:
        raise ValueError(f"no {form.name} message has the action {action[:100]!r}")
    return message


PLAIN = Plain()
MODES_1, MODES_2, MODES_3, MODES_4 = (Modes(mode) for mode in thinking.HEADERS)
FORMATS: dict[str, ActionFormat] = {form.name: form for form in (PLAIN, React(), Modes())}
"""Formats by their name on the wire: the only ones that a server parses. A run parses the messages of its
policy itself and sends actions, so that its format may be any.
"""
