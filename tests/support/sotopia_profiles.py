"""Invented profiles and episodes in the published layouts of Sotopia."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym_envs.sotopia.protocol.actions import NOTHING, Action
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene

AGENTS: tuple[dict[str, Any], ...] = (
    {"pk": "ana", "first_name": "Ana", "last_name": "Reed", "age": 41, "gender": "Woman", "mbti": "INFP"},
    {"pk": "bo", "first_name": "Bo", "last_name": "Lind", "age": 30, "gender": "Man", "big_five": "-"},
    {"pk": "cy", "first_name": "Cy", "last_name": "Moss", "age": 52, "gender": "Nonbinary"},
)
LAMP: dict[str, Any] = {
    "pk": "lamp",
    "codename": "lamp_1",
    "source": "craigslist_bargains",
    "scenario": "Ana sells a lamp, model Q7, for $40.00, and Bo looks at it.",
    "agent_goals": [
        "You are the seller of this lamp, and your target price is set at $32.0.",
        "You are the buyer of this lamp, with a target price of $20. Do not pay much more.",
    ],
    "relationship": 0,
    "age_constraint": "[(18, 70), (18, 70)]",
    "occupation_constraint": "[actor, actor]",
    "agent_constraint": None,
}
CUPS: dict[str, Any] = {
    "pk": "cups",
    "codename": "cups",
    "source": "deal-or-no-deal",
    "scenario": "They divide 3 cups, 2 plates, and 1 vase.",
    "agent_goals": [
        "Get points (<extra_info>each cup is worth 1 point, plates give you 2 points each, the vase is 5"
        " points</extra_info>)",
        "Get points (<extra_info>1 cup = 4 points, a plate equals 1 point, and you value the vase at 2"
        " points</extra_info>)",
    ],
    "relationship": 3,
}
PARTY: dict[str, Any] = {
    "pk": "party",
    "codename": "party",
    "source": "mutual_friends",
    "scenario": 'A party. <p viewer="environment">They have 1 common friends: Olga.</p>',
    "agent_goals": [
        "Find the mutual friend.\n<extra_info> You know the following friends: \n"
        " Don: Hobby: Chess  School: Hill College \n Mia: Hobby: Judo  School: Lake School \n"
        " Pat: Hobby: Chess  School: Lake School \n Kim: Hobby: Rugby  School: Hill College \n"
        " Olga: Hobby: Sailing  School: Hill College \n</extra_info>",
        "Find the mutual friend.\n<extra_info> You know the following friends \n"
        " Olga: Hobby: Sailing  School: Hill College \n Ivo: Hobby: Sailing  School: Park School \n"
        " Ute: Hobby: Poker  School: Hill College \n</extra_info>",
    ],
    "relationship": "0",
}
TALK: dict[str, Any] = {
    "pk": "talk",
    "codename": "lamp_1",
    "source": "normbank",
    "scenario": "A library.",
    "agent_goals": ["Whisper.", "Talk."],
    "relationship": 2,
    "season": "winter",
}
ENVIRONMENTS: tuple[dict[str, Any], ...] = (LAMP, CUPS, PARTY, TALK)
COMBOS: tuple[dict[str, Any], ...] = (
    {"pk": "c0", "env_id": "lamp", "agent_ids": ["ana", "bo"]},
    {"pk": "c1", "env_id": "talk", "agent_ids": ["cy", "ana"]},
    {"pk": "c2", "env_id": "cups", "agent_ids": ["bo", "cy"]},
    {"pk": "c3", "env_id": "lamp", "agent_ids": ["cy", "bo"]},
    {"pk": "c4", "env_id": "party", "agent_ids": ["ana", "cy"]},
)
LAMP_TASK, TALK_TASK, CUPS_TASK, LAMP_2_TASK, PARTY_TASK = (f"sotopia/{position}" for position in range(5))
"""Ids of the tasks of these combinations, by their scenarios."""
HARD = [3, 0]
RELATIONSHIPS: tuple[dict[str, Any], ...] = (
    {"relationship_id": "r0", "agent1_id": "bo", "agent2_id": "ana", "relationship": "0"},
    {"agent_1_id": "ana", "agent_2_id": "cy", "relationship": 2, "background_story": "They met."},
)


def write_json(path: Path, value: object) -> None:
    """A file of JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def write_lines(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """A file of JSON lines."""
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")


def write_profiles(folder: Path) -> Path:
    """All profiles, as AMPO has them."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "environments.json", {one["pk"]: one for one in ENVIRONMENTS})
    write_json(folder / "agents.json", {one["pk"]: one for one in AGENTS})
    write_json(folder / "combos.json", list(COMBOS))
    write_json(folder / "hard_combo_indices.json", HARD)
    write_lines(folder / "relationships.jsonl", RELATIONSHIPS)
    return folder


def scene_of(environment: Mapping[str, Any], seats: tuple[int, int] = (0, 1)) -> Scene:
    """A scene of an invented scenario and two of the characters."""
    first, second = (AgentProfile.model_validate(AGENTS[seat]) for seat in seats)
    return Scene(environment=EnvironmentProfile.model_validate(environment), agents=(first, second))


def talk(*words: str) -> list[tuple[Action, Action]]:
    """The log of a conversation in turn, seat 0 first; an empty text does nothing."""
    log: list[tuple[Action, Action]] = []
    for turn, text in enumerate(words):
        action = Action(action_type="speak", argument=text) if text else NOTHING
        log.append((action, NOTHING) if turn % 2 == 0 else (NOTHING, action))
    return log
