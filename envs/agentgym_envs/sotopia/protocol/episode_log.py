"""EpisodeLog: the package's record of an episode, for exports."""

from typing import Any

from agentgym_envs.sotopia.protocol.conversation import Conversation
from agentgym_envs.sotopia.protocol.judgement import Judgement


def episode_log(
    conversation: Conversation,
    judgement: Judgement | None,
    *,
    pk: str,
    environment: str,
    agents: tuple[str, str],
    models: tuple[str, str, str],
    tag: str = "",
) -> dict[str, Any]:
    """The record of an ended conversation, in the shape of `sotopia.database.EpisodeLog`.

    `models` are those of the judge and the two seats. Without a judgement `rewards` is null and `status` says
    so; the package has 0.0 there.
    """
    return {
        "pk": pk,
        "environment": environment,
        "agents": list(agents),
        "tag": tag,
        "models": list(models),
        "messages": _messages(conversation),
        "reasoning": _reasoning(conversation, judgement),
        "rewards": None if judgement is None else _rewards(judgement),
        "rewards_prompt": "",
        **({"status": "unjudged"} if judgement is None else {}),
    }


def _messages(conversation: Conversation) -> list[list[list[str]]]:
    """By turn: what both seats observed, then what both did."""
    names = conversation.names
    seen = [conversation.observations(seat) for seat in (0, 1)]
    turns: list[list[list[str]]] = []
    for turn in range(conversation.turn_number + 1):
        entries = [["Environment", name, seen[seat][turn]] for seat, name in enumerate(names)]
        if turn < conversation.turn_number:
            entries += [
                [name, "Environment", action.text]
                for name, action in zip(names, conversation.log[turn], strict=True)
            ]
        turns.append(entries)
    return turns


def _reasoning(conversation: Conversation, judgement: Judgement | None) -> str:
    text = f"Environment comments: terminated: {conversation.comments}\n"
    for number, reasons in enumerate(judgement.reasons if judgement else (), start=1):
        lines = "".join(f"{dimension}: {why}\n" for dimension, why in reasons.items())
        text += f"Agent {number} comments:\n{lines}"
    return text


def _rewards(judgement: Judgement) -> list[list[Any]]:
    return [
        [mean, {**{name: float(score) for name, score in scores.items()}, "overall_score": mean}]
        for mean, scores in zip(judgement.overall, judgement.scores, strict=True)
    ]
