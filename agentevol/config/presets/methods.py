"""Presets of methods: the settings of a whole training method under one name.

    agentevol run --preset aml env=social                           a method
    agentevol run --preset aml-mode-2 --preset one-gpu env=social   a method and a placement
    agentevol run --preset rlhf                                     a method in its own environment

`aml` is Adaptive Mode Learning (arXiv:2505.02156): a policy that was cloned from demonstrations in all four
thinking modes, then AMPO. `rlhf` is InstructGPT's pipeline (arXiv:2203.02155): cloning, a Bradley-Terry
reward model, PPO near the clone. The others are their baselines; they differ from these in nothing else than
they say.
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
    form: str = ""
    """Ending of the name of the starter that is the base."""
    environment: str = "alfworld"
    """Environment where none is named."""


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
    "demonstrations": {"tasks": 4000, "epochs": 1, "learning_rate": 2e-3},
    "explore": {"tasks": 18, "max_new_tokens": 160},
    "evaluate": {"episodes": 108, "validation_episodes": 54},
}
"""A policy of two million weights in the social worlds, on two cores; one that is no agent yet is cloned in
all modes first.
"""
LARGE: Settings = {
    "environment": {"options": {"actions": "text"}},  # an answer in quotes is no JSON
    "demonstrations": {"tasks": 1000, "epochs": 2, "learning_rate": 1e-5},
    "explore": {"tasks": 16, "max_new_tokens": 2048},
    "engine": {"context": 8192},
    "learn": {"learning_rate": 3e-7},
}
"""The paper's settings for a language model of seven billion weights; one that is no agent yet is cloned in
all modes first.
"""
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
        form=MODES,
    )


_GRPO: Settings = {"learn": {"options": {"mode_weight": 0.0}}}

CLONED: Settings = {
    "iterations": 12,
    "demonstrations": {"tasks": 400, "clone": True, "epochs": 1, "learning_rate": 3e-4},
    "explore": {"tasks": 192, "samples": 8},
    "learn": {"batch_tokens": 4096, "learning_rate": 1e-4},
}
"""Cloning of demonstrations, and the samples that every method has after it: for a policy of one million
weights on two cores, which unlearns its sums at higher learning rates.
"""
NEAR: Settings = {
    "kl": {"target": 0.05, "horizon": 1536.0},
    "learn": {"reference": "base", "options": {"kl_coef": 0.05}},
}
"""A KL penalty to the clone, whose coefficient follows a target by a fifth in a round of 1,536 episodes."""
PREFERRED: Settings = {
    "reward": {
        "preference_rounds": 6,
        "optimiser": "muon",
        "learning_rate": 1e-3,
        "epochs": 1,
        "patience": 2,
    },
    "pairs": {"strategy": "all_capped", "truncated_is_loss": True},
}
"""A reward model of the pairs of the first half of the rounds: a small one needs those of about a thousand
questions to order new ones.
"""
CRITIC: Settings = {
    "learn": {"critic_learning_rate": 3e-3, "critic_warmup": 20, "options": {"value_coef": 0.001}},
}
"""A critic that hardly changes the hidden states it shares with a small policy."""


def _rlhf(summary: str, *parts: Settings) -> Method:
    """A method on the same clone and as many samples as `rlhf`."""
    return Method(summary, merged(CLONED, *parts), environment="questions")


METHODS: Mapping[str, Method] = {
    "rlhf": _rlhf(
        "cloning, a Bradley-Terry reward model of preferences, then PPO on it with a KL target",
        {"algorithm": "ppo"},
        CRITIC,
        PREFERRED,
        NEAR,
    ),
    "rlhf-grpo": _rlhf("cloning, then GRPO on outcomes with the same KL target", {"algorithm": "grpo"}, NEAR),
    "rlhf-dpo": _rlhf(
        "cloning, then DPO on pairs of outcomes", {"algorithm": "dpo", "learn": {"reference": "base"}}
    ),
    "rlhf-adpo": _rlhf(
        "cloning, then ADPO on outcomes",
        # the function hardly differs from the return, and none is exploited
        {"algorithm": "adpo", "reward": {"function": "good_accuracy", "patience": None}},
    ),
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
        form=MODES,
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


def method_settings(name: str, environment: str | None = None) -> dict[str, Any]:
    """Settings of a method in an environment, None for its own, with the starter for it as the base."""
    method = METHODS[name]
    given: Settings = {} if environment else {"environment": {"name": method.environment}}
    chosen = environment or method.environment
    base: Settings = {"base": f"starter:{chosen}{method.form}"}
    return merged(base, given, method.settings, method.by_environment.get(chosen, {}))
