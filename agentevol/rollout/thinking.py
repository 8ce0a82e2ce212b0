"""Facts about how much a message thinks, for the record of its turn, and their summary.

In a turn's `info`: `mode`, 1 to 4, or -1 for a malformed reply (`agentgym_envs.formats.Modes.facts`);
`thinking_tokens` and `answer_tokens` of a well-formed one, by the policy's own tokenizer. What was thought
reaches no environment: the action is the answer alone.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from agentevol.core.protocols import Policy
from agentevol.core.summaries import ModeFigures, ThinkingSummary
from agentevol.data.answer_lengths import ANSWER_TOKENS, THINKING_TOKENS, token_count
from agentgym_envs.formats import ActionFormat
from agentgym_envs.thinking import parts
from agentgym_store.records import Trajectory, Turn


def beginning_of(form: ActionFormat) -> str:
    """Text that a format makes every message begin with."""
    return str(getattr(form, "beginning", ""))


def thinking_facts(form: ActionFormat, text: str, policy: Policy) -> dict[str, object]:
    """Facts about a message: what its format says, and its tokens where the policy has a tokenizer."""
    found: dict[str, object] = dict(form.facts(text)) if hasattr(form, "facts") else {}  # type: ignore[attr-defined]
    divided = parts(text)
    renderer = getattr(policy, "renderer", None)
    if divided is None or renderer is None:
        return found
    counts = [token_count(renderer.tokenizer, part) for part in divided]
    return found | dict(zip((THINKING_TOKENS, ANSWER_TOKENS), counts, strict=True))


def thinking_summary(trajectories: Iterable[Trajectory]) -> ThinkingSummary | None:
    """Modes and tokens of the turns with a mode; None where there is none."""
    found = [
        (number, mode, turn)
        for trajectory in trajectories
        for number, turn in enumerate(trajectory.turns, 1)
        if number > trajectory.given_turns and (mode := _mode(turn))
    ]
    if not found:
        return None
    modes = sorted({mode for _, mode, _ in found if mode > 0})
    turns = sorted({number for number, _, _ in found})
    return ThinkingSummary(
        all=_figures([turn for _, _, turn in found]),
        malformed=sum(mode == -1 for _, mode, _ in found) / len(found),
        by_mode={one: _figures([turn for _, mode, turn in found if mode == one]) for one in modes},
        by_turn={
            number: dict(sorted(Counter(mode for place, mode, _ in found if place == number).items()))
            for number in turns
        },
    )


def _mode(turn: Turn) -> int:
    """Mode of a reply; 0 where it has none."""
    mode = turn.info.get("mode")
    return mode if isinstance(mode, int) else 0


def _figures(turns: Sequence[Turn]) -> ModeFigures:
    sampled = [len(turn.sample.token_ids) if turn.sample else 0 for turn in turns]
    return ModeFigures(
        turns=len(turns),
        tokens=fmean(sampled) if any(sampled) else None,
        thinking_tokens=_mean(turns, THINKING_TOKENS),
        answer_tokens=_mean(turns, ANSWER_TOKENS),
    )


def _mean(turns: Sequence[Turn], name: str) -> float | None:
    """Mean of a count over the turns that have it."""
    counts = [count for turn in turns if isinstance(count := turn.info.get(name), int)]
    return fmean(counts) if counts else None
