"""Views: the background text that a seat, and the judge, read before a conversation."""

import re
from typing import Final, Literal, get_args

from agentgym_envs.sotopia.protocol.markup import shown_to, untagged
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, Scene

View = Literal["package", "relationship", "omniscient", "lite", "ampo"]
VIEWS: tuple[View, ...] = get_args(View)
"""`package`: nothing of the partner (sotopia 0.1.5); `relationship`: by relationship (arXiv:2310.11667, the
releases up to 0.1.4), never the secret; `omniscient`: what the judge reads; `lite`: no backgrounds; `ampo`:
both backgrounds with their secrets, and text for the environment only (code of arXiv:2505.02156).
"""
UNKNOWN: Final = "Unknown"
_INDENT = re.compile(r"\n +")


def background(scene: Scene, seat: int, view: View) -> str:
    """The background of `seat`, 0 or 1."""
    if view == "omniscient":
        return judge_background(scene, view)
    biographies = [_biography(scene, of, seat, view) for of in (0, 1)]
    goals = [
        _read(goal, seat, view) if of == seat else UNKNOWN
        for of, goal in enumerate(scene.environment.agent_goals)
    ]
    return _lines(
        scene.names,
        _read(scene.environment.scenario, seat, view),
        [
            f"{name}'s background: {text or UNKNOWN}"
            for name, text in zip(scene.names, biographies, strict=True)
        ],
        goals,
        view,
    )


def judge_background(scene: Scene, view: View = "package") -> str:
    """The background that the judge reads: both biographies, except in `lite`, both goals, and the paragraphs
    of all viewers.
    """
    backgrounds = [f"{agent.name}'s background: {agent.biography}" for agent in scene.agents]
    return _lines(
        scene.names,
        shown_to("environment", scene.environment.scenario),
        [] if view == "lite" else backgrounds,
        [shown_to("environment", goal) for goal in scene.environment.agent_goals],
        view,
    )


def _lines(
    names: tuple[str, str], scenario: str, backgrounds: list[str], goals: list[str], view: View
) -> str:
    if backgrounds and view in ("package", "omniscient", "lite"):
        # Release 0.1.5 strips the block of backgrounds; 0.1.4, whose view is `relationship`, does not.
        backgrounds = [backgrounds[0], backgrounds[1].rstrip()]
    lines = [
        "Here is the context of this interaction:",
        f"Scenario: {scenario}",
        f"Participants: {names[0]} and {names[1]}",
        *backgrounds,
        *(f"{name}'s goal: {goal or UNKNOWN}" for name, goal in zip(names, goals, strict=True)),
    ]
    return _INDENT.sub("\n", "\n".join(lines) + "\n").strip()


def _read(text: str, seat: int, view: View) -> str:
    return untagged(text) if view == "ampo" else shown_to(f"agent_{seat}", text)


def _biography(scene: Scene, of: int, seat: int, view: View) -> str:
    agent = scene.agents[of]
    if view == "lite":
        return UNKNOWN
    if of == seat or view == "ampo":
        return agent.biography
    return _known(agent, scene.environment.relationship) if view == "relationship" else UNKNOWN


def _known(agent: AgentProfile, relationship: int) -> str:
    """Description of `agent` that somebody in this relationship knows.

    The space before what is left out stays, as in recorded episodes.
    """
    if relationship == 0:
        return UNKNOWN
    if relationship == 1:
        return f"{agent.name} "
    public = f"{agent.identity} {agent.public_info} "
    return public if relationship == 2 else f"{public}{agent.personality} "
