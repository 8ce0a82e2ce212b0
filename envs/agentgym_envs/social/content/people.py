"""Names and biographies of the characters."""

from collections.abc import Collection
from random import Random
from typing import Final

from agentgym_envs.social.content import Pools
from agentgym_envs.sotopia.protocol.profiles import AgentProfile

FIRST: Final[Pools] = {
    "train": (
        *("Anna", "Bruno", "Carla", "Dario", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Karin"),
        *("Lukas", "Marta", "Nils", "Olga", "Pablo", "Renata", "Stefan", "Tanja", "Ulrich", "Vera"),
        *("Walter", "Xenia", "Yusuf", "Zoe", "Amir", "Bianca", "Cedric", "Dalia", "Emil", "Farah", "Gustav"),
        *("Helga", "Ivan", "Jelena", "Kenji", "Leila", "Marek", "Nadia", "Oskar", "Petra", "Rashid"),
    ),
    "valid": (
        *("Alba", "Boris", "Clara", "Dimitri", "Edith", "Fabio", "Gisela", "Henrik", "Ines", "Jakob", "Kira"),
        *("Lorenz", "Mina", "Nestor", "Oriana", "Paavo", "Romy", "Sven", "Tilda", "Urban", "Viola", "Wim"),
        *("Yara", "Zeno", "Agnes", "Birk"),
    ),
    "test": (
        *("Ada", "Bashir", "Celia", "Davor", "Esther", "Flavio", "Gudrun", "Hamid", "Ilse", "Joris", "Katya"),
        *("Leon", "Malin", "Nico", "Odile", "Piotr", "Quentin", "Rosa", "Samir", "Thea", "Ugo", "Vilma"),
        *("Wanda", "Xaver", "Ylva", "Zita", "Anselm", "Britta"),
    ),
}
"""First names; none is an ordinary English word."""

LAST: Final[Pools] = {
    "train": (
        *("Adler", "Bauer", "Castro", "Dubois", "Eriksen", "Ferrari", "Garcia", "Hofmann", "Ibsen", "Jansen"),
        *("Keller", "Lehmann", "Moreau", "Novak", "Ortega", "Petrov", "Rossi", "Santos", "Tanaka", "Vogel"),
    ),
    "valid": ("Amsel", "Brandt", "Conti", "Dahl", "Egger", "Fontana", "Gruber", "Holm", "Isaksen", "Jung"),
    "test": ("Almeida", "Berger", "Colombo", "Dietrich", "Ek", "Fabre", "Gallo", "Haas", "Ito", "Juhl"),
}

OCCUPATIONS: Final[Pools] = {
    "train": ("nurse", "carpenter", "librarian", "chemist", "pilot", "gardener", "accountant", "tailor"),
    "valid": ("baker", "surveyor", "translator", "florist"),
    "test": ("plumber", "archivist", "optician", "beekeeper", "violinist"),
}

TRAITS: Final[Pools] = {
    "train": (
        "Values fairness and a clear word.",
        "Is patient, and likes to plan ahead.",
        "Is curious, and enjoys a long talk.",
        "Prefers facts to feelings.",
    ),
    "valid": ("Thinks twice before agreeing.", "Enjoys company, and dislikes waste."),
    "test": ("Is careful with promises.", "Looks for a bargain, and keeps calm.", "Likes plain dealing."),
}

SECRETS: Final[Pools] = {
    "train": ("has never learnt to swim", "dislikes the office coffee", "once failed a driving test"),
    "valid": ("is afraid of moths", "cannot whistle"),
    "test": ("reads the last page first", "dances badly", "forgets birthdays"),
}

HOMES: Final[Pools] = {
    "train": ("Lives by the sea.", "Lives above a bakery.", "Lives with two cats."),
    "valid": ("Lives near the station.", "Lives in a mill."),
    "test": ("Lives on a houseboat.", "Lives behind the theatre.", "Lives in the old town."),
}

GENDERS: Final = (("Woman", "She/her"), ("Man", "He/him"), ("Nonbinary", "They/them"))


def characters(draws: Random, split: str, taken: Collection[str]) -> tuple[AgentProfile, AgentProfile]:
    """Two characters of a split with different first and last names; no first name is one of `taken`."""
    free = [name for name in FIRST[split] if name not in taken] if taken else FIRST[split]
    firsts, lasts = draws.sample(free, 2), draws.sample(LAST[split], 2)
    both = [_character(draws, split, seat, firsts[seat], lasts[seat]) for seat in (0, 1)]
    return both[0], both[1]


def _character(draws: Random, split: str, seat: int, first: str, last: str) -> AgentProfile:
    gender, pronoun = draws.choice(GENDERS)
    return AgentProfile(
        pk=f"seat-{seat}",
        first_name=first,
        last_name=last,
        age=draws.randint(21, 69),
        occupation=draws.choice(OCCUPATIONS[split]),
        gender=gender,
        gender_pronoun=pronoun,
        public_info=draws.choice(HOMES[split]),
        personality_and_values=draws.choice(TRAITS[split]),
        secret=draws.choice(SECRETS[split]) + ".",
    )
