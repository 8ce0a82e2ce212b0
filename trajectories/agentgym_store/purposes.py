"""Purposes of episodes.

explore      sampled by the policy, to learn from
evaluate     played to measure a policy
partner      played by another player, in the seats beside the policy's
demonstrate  played by an expert or a demonstrating player
value        continued from a recorded state, to estimate its value
retain       copied from another run, to replay against forgetting
protect      played on protected tasks, to detect forgetting
reflect      text of the policy about a failed episode
retry        attempt that has read a reflection
control      second attempt without a reflection, to compare retries with
skill        attempt to learn or test a skill
propose      task proposed by the policy

Counts over `explore` are what the policy can do alone. This module is the only list; it imports nothing, so
that the command line can offer it.
"""

from typing import Literal, get_args

Purpose = Literal[
    "explore",
    "evaluate",
    "partner",
    "demonstrate",
    "value",
    "retain",
    "protect",
    "reflect",
    "retry",
    "control",
    "skill",
    "propose",
]

PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
