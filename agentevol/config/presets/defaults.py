"""Default settings of a run by its algorithm and environment.

`agentevol run algorithm=grpo` takes these values for keys that neither the file nor another override sets.
They are for small policies on two cores; the algorithms: `agentevol.learn.algorithms`.
"""

from collections.abc import Mapping
from typing import Any

Preset = Mapping[str, Mapping[str, Any]]

ONLINE: Preset = {
    "select": {"rule": "all", "turns": "all", "per_task": None, "distinct": False, "merge": "none"},
    "learn": {
        "learning_rate": 3e-4,
        "epochs": 1,
        "batch_tokens": 8192,
        "schedule": "constant",
        "keep_moments": True,
    },
    "explore": {"tasks": 50, "samples": 8},
}
"""Train on every scored episode, once, in few large steps, while it is fresh."""

PREFERENCES: Preset = {
    "select": {"rule": "all", "turns": "all", "per_task": None, "distinct": False, "merge": "none"},
    "learn": {"learning_rate": 1e-4, "epochs": 1, "batch_tokens": 4096, "schedule": "constant"},
    # in environments with a limit of turns, a failure nearly always reaches it
    "pairs": {"strategy": "all_capped", "truncated_is_loss": True},
}

IMITATION: Preset = {}
"""The defaults of the configuration."""

STEPS: Preset = {
    "select": {"rule": "all", "turns": "all", "per_task": None, "distinct": False, "merge": "none"},
    "learn": {"learning_rate": 3e-4, "epochs": 2},
}
"""Every state with a value, whatever the outcome of its episode."""

WEIGHTED: Preset = {"select": {"rule": "all", "per_task": None, "distinct": False}}
"""Whole groups: a weight is informative beside that of an episode with a lower return."""

_TOOLS: Preset = {
    "environment": {"options": {"tools_in": "text"}},
    "explore": {"max_new_tokens": 192},
}
_TOOL_ENVIRONMENTS = (
    *("academia", "bfcl", "movie", "sheet", "sql"),
    *("tau-airline", "tau-mock", "tau-retail", "tau-telecom", "todo", "weather"),
)
_TALKS = {"episodes": 300, "temperature": 0.7, "measure": "reward"}

BY_ENVIRONMENT: Mapping[str, Mapping[str, Any]] = {
    "alfworld": {
        "explore": {"difficulty": "medium"},
        "select": {"per_task": 2},
        "evaluate": {"difficulty": "medium"},
    },
    **dict.fromkeys(_TOOL_ENVIRONMENTS, _TOOLS),
    "assistant": {
        "environment": {"options": {"tools_in": "text"}, "max_turns": 16},
        "explore": {"tasks": 200, "max_new_tokens": 96},
    },
    # one agent beside the environment's partner, which no learning changes
    "social": {
        "environment": {"seats": 1},
        "explore": {"max_new_tokens": 64},
        "evaluate": _TALKS,
    },
    "sotopia": {"environment": {"seats": 1, "options": {"actions": "text"}}, "evaluate": _TALKS},
    "webshop": {
        "environment": {"max_turns": 20},
        "explore": {"difficulty": "small", "tasks": 200, "max_new_tokens": 112},
        "evaluate": {"difficulty": "small", "validation_episodes": 250},
    },
}
"""Settings by environment, which those of the algorithm override. In rooms two wins of a task teach about as
much as four (58.3 points of gain, 59.8 with four, means of three seeds) in two thirds of the time. In a shop
a search or a thought has many words, looking at a few items takes more than the benchmark's 15 turns, and few
episodes are won, so that many are needed to tell one checkpoint from another. The schemas of an assistant's
tools are ten times as long as its episodes, and those of other environments of tools are long, too; a small
policy knows the tools from its demonstrations.
"""

_TALKED: Preset = {
    "explore": {"tasks": 180, "samples": 8},
    # few large steps near the base: in small ones the noise of single conversations makes a small policy
    # more random with every iteration
    "learn": {
        "algorithm": "grpo",
        "learning_rate": 2e-4,
        "batch_tokens": 32768,
        "options": {"kl_coef": 0.05},
        "reference": "base",
    },
}

ALGORITHM_BY_ENVIRONMENT: Mapping[str, Preset] = {"social": _TALKED, "sotopia": _TALKED}
"""Algorithm of a run that names none, and its settings, by environment; elsewhere runs imitate. Conversations
are seldom won outright, and pay in degrees.
"""

OFFICIAL: Mapping[str, Mapping[str, Any]] = {
    "alfworld": {
        "explore": {"split": "official_train", "difficulty": None},
        "evaluate": {"split": "valid_unseen", "validation_split": "valid_seen", "difficulty": None},
    },
}
"""Settings by environment of `environment.data = "official"`, over `BY_ENVIRONMENT`."""

IMITATION_BY_ENVIRONMENT: Mapping[str, Mapping[str, Any]] = {"webshop": {"start": "base"}}
"""Additional settings of runs that imitate whole episodes: where wins are few, a policy that trains on the
same ones in every iteration soon memorises them, and gets worse on all others.
"""

MIXED_IMITATION: Mapping[str, Any] = {"start": "base", "learn": {"learning_rate": 1e-4}}
"""Settings of imitation in several environments: with `start=latest` and a rate of 3e-4 an earlier
`starter:many` gained in textcraft and lost in wordle.
"""

BY_DATA: Mapping[str, Preset] = {
    "episodes": IMITATION,
    "groups": ONLINE,
    "pairs": PREFERENCES,
    "labels": PREFERENCES,
    "steps": STEPS,
}
"""Settings by the kind of data that an algorithm trains on."""

TRAIN_BY_DATA: Mapping[str, Preset] = {"groups": {"select": {"max_lag": 4}}}
"""Additional settings of `agentevol train` on a table. In a run these algorithms have no stale data: they
train on each round's samples right after it.
"""

STALE: Preset = {"learn": {"options": {"importance": "token"}}}
"""Additional settings of a policy gradient where rounds are explored ahead: older weights sampled the
training data, so that tokens are weighted by the ratio of their probabilities since then (the decoupled
objective of arXiv:2110.00641, as in arXiv:2505.24298).
"""

BY_NAME: Mapping[str, Preset] = {
    # modes are compared where each occurs twice: seldom in eight samples, mostly in the paper's sixteen
    "ampo": {"explore": {"tasks": 25, "samples": 16}},
    # dynamic sampling is a part of it: ten rounds of tasks at most (arXiv:2503.14476, section 3.2)
    "dapo": {"explore": {"resample": 9}},
    # one action in an episode that the environment cannot carry out is a slip, more are a habit
    "lagrangian": {"constraints": {"invalid_actions": {"limit": 1.0}}},
    "softmax_bc": WEIGHTED,
    "weighted_bc": WEIGHTED,
}
"""Additional settings by algorithm."""

BY_REWARD: Mapping[str, Preset] = {
    "bradley_terry": {
        "learn": {"algorithm": "grpo"},
        # a few hundred pairs a round, which a small model has to read more than once
        "reward": {"refresh": True, "learning_rate": 1e-3, "epochs": 4},
        "pairs": PREFERENCES["pairs"],
    },
    # among those that reward single turns, the one without a critic to train
    "process_reward": {"learn": {"algorithm": "reinforce_pp"}, "process": {"continuations": 4}},
}
"""Settings of a run that names an algorithm of reward models: a policy trains on the model's rewards."""
