"""Identity of a source: two names of one model are one source.

judge:gpt-4.1    judge:openai:gpt-4.1    judge:GPT-4.1@http://127.0.0.1:8000/v1    are all judge:gpt-4.1
"""

from collections.abc import Mapping


def identity(source: str) -> str:
    """Source by which opinions are told apart: a judge's model without its address, provider and case."""
    kind, _, name = source.partition(":")
    if kind != "judge" or not name:
        return source
    model = name.removeprefix("openai:").partition("@")[0].casefold()
    return f"{kind}:{model}"


def weight_of(source: str, weights: Mapping[str, float]) -> float:
    """Weight of a source in `feedback.weights`: its own, else that of its kind (`human`), else 1."""
    own = {identity(name): weight for name, weight in weights.items()}
    return own.get(identity(source), own.get(source.partition(":")[0], 1.0))
