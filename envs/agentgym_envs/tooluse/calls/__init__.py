"""Parsing of an agent's message into tool calls.

Forms, in the order in which they are tried: structured JSON (of OpenAI and plain), tagged text (Hermes,
Qwen), a fenced block of JSON, ReAct text, and, where an environment asks for it, calls in Python's syntax.
Nothing is evaluated: JSON and literals only, of bounded size.

Names for other packages: `SURROGATES`, `MOST_CALLS`, `Call`, `decoded`, `mentions_call`, `parse`, `written`.
"""

from agentgym_envs.tooluse.calls.call import Call, written
from agentgym_envs.tooluse.calls.literals import SURROGATES, decoded
from agentgym_envs.tooluse.calls.parsing import MOST_CALLS, mentions_call, parse

__all__ = ["MOST_CALLS", "SURROGATES", "Call", "decoded", "mentions_call", "parse", "written"]
