"""Endings of episodes: their name with its reason, and what they mean in plain words."""

import polars as pl

ENDING = (
    pl.concat_str(pl.col("ending"), pl.lit("("), pl.coalesce("limit", "failure"), pl.lit(")"))
    .fill_null(pl.col("ending"))
    .alias("ending")
)
"""`terminated`, `truncated(max_turns)`, `failed(worker-lost)` of the columns of an episode."""

LIMITS = {
    "max_turns": "the limit of turns was reached before the task was done",
    "context": "the conversation no longer fitted into the model's window",
}
FAILURES = {
    "worker-lost": "the process that ran the environment ended",
    "session-not-found": "the environment's server was lost, and this episode with it",
    "session-expired": "the environment ended the episode, since nobody acted for too long",
    "step-timeout": "the environment did not answer in time",
    "transport": "the environment's server could not be reached, or its answer was lost",
    "policy": "the model or its engine failed",
    "internal": "the environment, or what it wraps, raised an error",
    "environment": "the environment raised an error",
    "judge": "the judge gave no valid verdict",
    "verifier": "the verifier of answers raised an error",
    "partner": "another seat of the episode failed",
}


def meaning(ending: str) -> str:
    """Meaning of an ending with its reason."""
    kind, _, rest = ending.partition("(")
    reason = rest.removesuffix(")")
    match kind:
        case "terminated":
            return "the environment reached its end"
        case "truncated":
            return LIMITS.get(reason, f"cut off by a limit: {reason}")
        case "cancelled":
            return "stopped on purpose; it has no return"
        case "failed":
            return f"{FAILURES.get(reason, reason)}; not the agent's fault, and never trained on"
        case _:
            return ending
