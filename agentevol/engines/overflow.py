"""Overflow policies for a conversation that no longer fits the engine's context (`engine.overflow`).

truncate      the episode ends: truncated(context)
drop_oldest   it goes on without its oldest exchanges, of an action and what the environment answered to it

    opening | said 1, answer 1 | said 2, answer 2 | said 3, answer 3
    opening                                       | said 3, answer 3

The opening is everything up to the first user message. The kept exchanges consist of the sampled ids; only
observations are encoded, as in the first place. Such a prompt does not extend the one before it, so it begins
another training sequence (`select.sequences`), and counts as one of `drift_events`.
"""

from agentevol.core.protocols import Conversation, Overflow, Sampling
from agentevol.models.limits import check_room
from agentevol.models.rendering import ChatRenderer

KEPT = 0.5
"""Maximum share of the context for a prompt after its oldest exchanges are dropped, where possible. The turns
after it then extend it for a while, instead of each beginning another training sequence.
"""


def prompt_of(
    renderer: ChatRenderer, conversation: Conversation, sampling: Sampling, context: int, overflow: Overflow
) -> list[int]:
    """Prompt of the next turn. Raises `ContextFull` where the prompt and the tokens to be sampled do not fit.

    Equal conversations have equal prompts.
    """
    prompt_ids = renderer.conversation_ids(conversation)
    room = context - sampling.max_new_tokens
    if overflow == "drop_oldest" and len(prompt_ids) > room:
        prompt_ids = shortened(renderer, conversation, min(room, int(KEPT * context)))
    check_room(len(prompt_ids), sampling, context)
    return prompt_ids


def shortened(renderer: ChatRenderer, conversation: Conversation, most: int) -> list[int]:
    """The opening and as many of the latest exchanges as fit into `most` tokens, but at least one."""
    messages = conversation.messages
    begins = next(place for place, message in enumerate(messages) if message.role == "user") + 1
    opening, kept = renderer.prompt(messages[:begins]), list[int]()
    turns = list(zip(conversation.samples, messages[begins + 1 :: 2], strict=True))
    for sample, heard in reversed(turns):
        # the turn of a scripted policy has no sampled ids
        said = list(sample.token_ids) or renderer.action_ids(sample.text)
        exchange = said + renderer.extend(said, heard.content)
        if kept and len(opening) + len(exchange) + len(kept) > most:
            break
        kept = exchange + kept
    return opening + kept
