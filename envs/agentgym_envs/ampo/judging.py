"""Scores of a reply: AMPO's answer reward, and the judge of goals behind an endpoint."""

from typing import Final

from agentgym_envs.ampo.records import State
from agentgym_envs.sotopia.models.judge import JudgeModel, judged
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, judgement_format

GOAL: Final = tuple(one for one in SOTOPIA if one.name == "goal")
HIGHEST: Final = 10.0

_PROMPT = """\
{first}'s goal: {goal1}
{second}'s goal: {goal2}
Their conversation so far:
{dialog}

Based on this conversation, evaluate how far each of them has achieved their goal. {first} is agent_1, \
{second} is agent_2.

{form}"""


def change_reward(before: float, after: float) -> float:
    """Answer reward of a change in a goal score of 0 to 10: 1/2 for none, 1 for all that was missing, 0 for
    the loss of everything (arXiv:2505.02156).
    """
    change = after - before
    share = 0.0 if change == 0 else change / (HIGHEST - before) if change > 0 else change / before
    return (share + 1) / 2


async def goal_after(state: State, answer: str, judge: JudgeModel) -> float:
    """The actor's goal score after its answer. Raises `JudgeFault`."""
    prompt = _PROMPT.format_map(
        {
            "first": state.names[0],
            "second": state.names[1],
            "goal1": state.goals[0],
            "goal2": state.goals[1],
            "dialog": "\n".join(state.with_reply(answer)),
            "form": f"Please follow the format:\n{judgement_format(GOAL)}",
        }
    )
    scores = await judged(prompt, state.names, judge, dimensions=GOAL)
    return scores.scores[state.actor]["goal"]
