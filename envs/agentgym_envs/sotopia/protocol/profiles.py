"""Profiles: `AgentProfile`, `EnvironmentProfile`, and the `Scene` of one episode."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

RELATIONSHIPS: Final[Mapping[int, str]] = {
    0: "stranger",
    1: "know_by_name",
    2: "acquaintance",
    3: "friend",
    4: "romantic_relationship",
    5: "family_member",
}
_ADJECTIVES: Final = {"Man": "male", "Woman": "female", "Nonbinary": "nonbinary"}


class Profile(BaseModel):
    """Frozen profile; unknown fields of a published file are kept, so that an export has them again."""

    model_config = ConfigDict(frozen=True, extra="allow")

    pk: str = Field(min_length=1)


class AgentProfile(Profile):
    """A character. Only these fields reach a prompt."""

    first_name: str
    last_name: str = ""
    age: int = 0
    occupation: str = ""
    gender: str = ""
    gender_pronoun: str = ""
    public_info: str = ""
    personality_and_values: str = ""
    secret: str = ""

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}"

    @property
    def identity(self) -> str:
        """Name, age, occupation and pronouns, one sentence each."""
        # An unlisted gender has no adjective, and leaves two spaces.
        adjective = _ADJECTIVES.get(self.gender, "")
        return (
            f"{self.name} is a {self.age}-year-old {adjective} {self.occupation.lower()}. "
            f"{self.gender_pronoun} pronouns."
        )

    @property
    def personality(self) -> str:
        """The sentence of personality and values."""
        return f"Personality and values description: {self.personality_and_values}"

    @property
    def biography(self) -> str:
        """All that is known of the character, the secret included, on one line."""
        return (
            f"{self.identity} {self.public_info} {self.personality} "
            f"{self.first_name}'s secrets: {self.secret}"
        )


class EnvironmentProfile(Profile):
    """A scenario with the goals of two seats; texts may have the markup of `markup`."""

    codename: str = ""
    source: str = ""
    scenario: str
    agent_goals: tuple[str, str]
    relationship: int = Field(default=0, ge=0, le=5)
    """Key of `RELATIONSHIPS`."""
    age_constraint: Any = None
    occupation_constraint: Any = None
    agent_constraint: Any = None


class Scene(BaseModel):
    """Setting of one episode: a scenario, and a character in each of two seats."""

    model_config = ConfigDict(frozen=True)

    environment: EnvironmentProfile
    agents: tuple[AgentProfile, AgentProfile]

    @property
    def names(self) -> tuple[str, str]:
        """Full names by seat; they may be equal, so that a seat is never found by its name."""
        return self.agents[0].name, self.agents[1].name
