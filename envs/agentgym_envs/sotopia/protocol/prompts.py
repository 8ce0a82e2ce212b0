"""Prompts of agents and judges, one user message each, word for word those of the package `sotopia` 0.1.5
(MIT License, Copyright (c) 2024 Sotopia Lab).

Placeholders are filled in one pass: the package fills them one after the other, so that an agent who says
`{action_list}` writes into its partner's prompt.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from agentgym_envs.sotopia.protocol.actions import ACTION_TYPES, Action
from agentgym_envs.sotopia.protocol.conversation import Conversation
from agentgym_envs.sotopia.protocol.dimensions import Dimension, judgement_format

ACTION_SCHEMA: Final[dict[str, Any]] = {
    "properties": {
        "action_type": {
            "description": "whether to speak at this turn or choose to not do anything",
            "enum": list(ACTION_TYPES),
            "title": "Action Type",
            "type": "string",
        },
        "argument": {
            "description": "the utterance if choose to speak, the expression or gesture if choose non-verbal "
            "communication, or the physical action if choose action",
            "title": "Argument",
            "type": "string",
        },
    },
    "required": ["action_type", "argument"],
    "title": "AgentAction",
    "type": "object",
}
ACTION_FORMAT: Final = json.dumps(ACTION_SCHEMA)

_AGENT = """\
Imagine you are {agent}, your task is to act/speak as {agent} would, keeping in mind {agent}'s social goal.
You can find {agent}'s goal (or background) in the 'Here is the context of the interaction' field.
Note that {agent}'s goal is only visible to you.
You should try your best to achieve {agent}'s goal in a way that align with their character traits.
Additionally, maintaining the conversation's naturalness and realism is essential (e.g., do not repeat what \
other people has already said before).
{history}.
You are at Turn #{turn_number}. Your available action types are
{action_list}.
Note: You can "leave" this conversation if 1. you have achieved your social goals, 2. this conversation \
makes you uncomfortable, 3. you find it uninteresting/you lose your patience, 4. or for other reasons you \
want to leave.

Please only generate a JSON string including the action type and the argument.
Your action should follow the given format:
{format_instructions}"""

_JUDGE = """\
{history}
Based on previous interactions, evaluate how well participants achieve their goals.
There are exactly 2 agents. Under the 'evaluations' field, use exactly these keys: ["agent_1", "agent_2"] \
(no other keys).

Please follow the format:
{format_instructions}"""


def agent_prompt(conversation: Conversation, seat: int) -> str:
    """The message for the model of a seat whose turn it is."""
    return _AGENT.format(
        agent=conversation.names[seat],
        history="\n".join(conversation.observations(seat)),
        turn_number=conversation.turn_number,
        action_list=" ".join(conversation.available(seat)),
        format_instructions=ACTION_FORMAT,
    )


def judge_prompt(
    background: str,
    names: tuple[str, str],
    log: Sequence[tuple[Action, Action]],
    dimensions: Sequence[Dimension],
) -> str:
    """The message for the judge of a whole conversation.

    The package leaves out every line that contains "did nothing"; here only actions of type `none` are.
    """
    return _JUDGE.format(
        history="\n".join([background, *transcript(names, log)]),
        format_instructions=judgement_format(dimensions),
    )


def transcript(names: tuple[str, str], log: Sequence[tuple[Action, Action]]) -> list[str]:
    """The lines of a conversation: `Turn #k`, and one for each action, without `none`."""
    lines: list[str] = []
    for turn, both in enumerate(log, start=1):
        lines.append(f"Turn #{turn}")
        lines += [
            f"{name} {action.text}"
            for name, action in zip(names, both, strict=True)
            if action.action_type != "none"
        ]
    return lines
