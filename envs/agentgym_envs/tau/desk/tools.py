"""Tools of every help desk, and those of the solo mode."""

from typing import Annotated

from pydantic import Field

from agentgym_envs.tau.calculator import calculated
from agentgym_envs.tau.desk.world import DeskWorld
from agentgym_envs.tooluse import Tool, tool

Message = Annotated[str, Field(max_length=4000)]


@tool("generic")
def calculate(world: DeskWorld, expression: str) -> str:
    """Calculate the value of an arithmetic expression.

    Args:
        expression: Numbers, + - * / and parentheses, such as (3 + 4) * 2.5.
    """
    return calculated(
        expression,
        "invalid characters in expression" if world.is_tau1 else "Invalid characters in expression",
    )


@tool("generic")
def think(world: DeskWorld, thought: str) -> str:  # noqa: ARG001 - a tool's state
    """Write down a thought; nothing changes and nothing new is learnt.

    Args:
        thought: The thought.
    """
    return ""


@tool("generic")
def transfer_to_human_agents(world: DeskWorld, summary: str) -> str:  # noqa: ARG001 - a tool's state
    """Hand the customer over to a human agent: on an explicit wish, or where the policy and the tools do not
    allow what is wanted.

    Args:
        summary: Summary of the customer's issue.
    """
    return "Transfer successful"


@tool("generic")
def reply(world: DeskWorld, text: Message) -> str:
    """Tell the customer something that the ticket asks for. There is no answer.

    Args:
        text: Short message with the facts.
    """
    world.messages.append(text)
    return "Sent."


@tool("control")
def done(world: DeskWorld) -> str:  # noqa: ARG001 - a tool's state
    """End the work on the ticket."""
    return "Done."


@tool("control")
def submit_refusal(world: DeskWorld, reason: str) -> str:  # noqa: ARG001 - a tool's state
    """End the work on a ticket of which the policy allows nothing; nothing may have been changed.

    Args:
        reason: Rule of the policy that forbids it.
    """
    return "Refused."


TRANSFER_ENDS = Tool(
    name=transfer_to_human_agents.name,
    description=transfer_to_human_agents.description,
    parameters=transfer_to_human_agents.parameters,
    kind="control",
    run=transfer_to_human_agents.run,
    returns=transfer_to_human_agents.returns,
)
"""The transfer of tau-bench, which ends an episode at once."""
