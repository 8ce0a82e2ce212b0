"""Presets of methods: the settings of a whole training method under one name.

    agentevol run --preset aml env=social                           a method
    agentevol run --preset aml-mode-2 --preset one-gpu env=social   a method and a placement

`aml` is Adaptive Mode Learning (arXiv:2505.02156): a policy that was cloned from demonstrations in all four
thinking modes, then AMPO. The others are its baselines; they differ from it in nothing else than they say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentevol.config.files.merging import merged
from agentevol.core.starter_names import MODES
from agentgym_envs.thinking import HEADERS, NAMES

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Method:
    """Settings of a method, nested as in a configuration file."""

    summary: str
    settings: Settings
    by_environment: Mapping[str, Settings] = field(default_factory=dict[str, Settings])
    """Further settings by environment, over `settings`."""


AMPO: Settings = {
    "algorithm": "ampo",
    "learn": {
        # the states of a dialogue do not recur, and only its end is paid
        "options": {
            "compare": "turn",
            "credit": "episode",
            "singleton": "zero",
            "length_target": 250.0,
            "length_span": 75.0,
        },
        "reference": "base",
    },
}
PLAY: Settings = {
    "environment": {"format": "modes", "seats": 1},
    "explore": {"samples": 16, "temperature": 1.0},
    "evaluate": {"temperature": 0.7},
}
"""One agent beside the environment's partner; the paper evaluates at 0.7."""

SMALL: Settings = {
    "explore": {"tasks": 18, "max_new_tokens": 160},
    "evaluate": {"episodes": 108, "validation_episodes": 54},
}
"""A policy of two million weights in the social worlds, on two cores."""
LARGE: Settings = {
    "environment": {"options": {"actions": "text"}},  # an answer in quotes is no JSON
    "explore": {"tasks": 16, "max_new_tokens": 2048},
    "engine": {"context": 8192},
    "learn": {"learning_rate": 3e-7},
}
"""The paper's settings for a language model of seven billion weights."""
LENGTHS: Settings = {"learn": {"options": {"length_target": 24.0, "length_span": 8.0}}}
"""Answers in the social worlds have 4 to 20 tokens where a language model's have hundreds."""
STEADY: Settings = {
    "learn": {"learning_rate": 2e-4, "batch_tokens": 32768, "options": {"kl_coef": 0.05}},
}
"""Few large steps near the base, as in other runs in conversations (`agentevol.config.presets.defaults`)."""


def _ampo(summary: str, *parts: Settings) -> Method:
    """A method that trains with AMPO's reward."""
    return Method(
        summary,
        merged(AMPO, PLAY, *parts),
        {"social": merged(SMALL, LENGTHS, STEADY), "sotopia": LARGE},
    )


_GRPO: Settings = {"learn": {"options": {"mode_weight": 0.0}}}

METHODS: Mapping[str, Method] = {
    "aml": _ampo("AMPO on a policy cloned in all thinking modes"),
    "aml-grpo": _ampo("the same with GRPO: equal rewards, and modes are not compared", _GRPO),
    "aml-sft": Method(
        "supervised learning alone: each round clones the two best of sixteen episodes of a task",
        merged(
            {"algorithm": "sft"},
            PLAY,
            {"select": {"rule": "best_of", "k": 2, "turns": "valid", "merge": "none"}},
            {"learn": {"epochs": 1, "schedule": "constant", "keep_moments": True}},
        ),
        {
            "social": SMALL,
            "sotopia": merged(LARGE, {"learn": {"learning_rate": 2e-6, "epochs": 3}}),
        },
    ),
    **{
        f"aml-mode-{mode}": _ampo(
            f"every reply in mode {mode}, {NAMES[mode]}, by a forced beginning; GRPO",
            _GRPO,
            {"environment": {"format": f"modes-{mode}"}},
        )
        for mode in HEADERS
    },
}
"""Methods by name."""


def method_settings(name: str, environment: str) -> dict[str, Any]:
    """Settings of a method in an environment, with the starter that writes in thinking modes as its base."""
    method = METHODS[name]
    base: Settings = {"base": f"starter:{environment}{MODES}"}
    return merged(base, method.settings, method.by_environment.get(environment, {}))
