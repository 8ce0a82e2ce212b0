"""Players of generated questions."""

from random import Random

from agentgym_envs.searchqa.generator import Chain, World
from agentgym_envs.searchqa.generator.world import RELATIONS
from agentgym_envs.searchqa.replies import answering, searching

_PHRASES = {one.name: one.phrase for one in RELATIONS}


def played(chain: Chain, own: World, draw: Random, care: float, most: int) -> list[str]:
    """Replies of a player that searches for each entity of a chain, and answers.

    With probability 1 - `care` it reads another fact than the one that it needs, and follows that; a wrong
    answer is its last.
    """
    entity, replies = chain.entities[0], list[str]()
    thought = f"I look for {_told(chain.relations[0], entity)}."
    for name, following in zip(chain.relations, (*chain.relations[1:], ""), strict=True):
        replies.append(searching(thought, entity))
        reached = own.facts[entity][name] if draw.random() < care else _misread(own, entity, name, draw)
        said = f"{_capital(_told(name, entity))} is {reached}."
        if not following:
            return [*replies, answering(said, reached)][:most]
        if following not in own.facts.get(reached, {}):  # it read of something else, and can go no further
            return [*replies, answering(f"{said} That is as far as I get.", reached)][:most]
        entity = reached
        thought = f"{said} I look for {_told(following, entity)}."
    return replies[:most]


def _told(relation: str, entity: str) -> str:
    return _PHRASES[relation].format(x=entity)


def _misread(own: World, entity: str, name: str, draw: Random) -> str:
    others = [value for relation, value in own.facts[entity].items() if relation != name]
    return draw.choice(others)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
