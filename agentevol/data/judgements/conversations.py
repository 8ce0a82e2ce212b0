"""Conversations of items: `Conversations` finds the profiles of recorded ones by their keys."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import assert_never

from agentevol.data.judgements.items import (
    Conversation,
    Episode,
    Item,
    RecordedTalk,
    Recording,
    Social,
    Transcript,
)
from agentevol.data.judgements.outcomes import NoRating
from agentgym_envs.core import TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.social.episode import Episode as SocialEpisode
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.outcome import Outcome
from agentgym_envs.social.replay import replayed
from agentgym_envs.social.tasks import task
from agentgym_envs.social.verifier import TaskVerifier
from agentgym_envs.sotopia.data.library import Catalogue
from agentgym_envs.sotopia.data.profile_set import ProfileSet, SotopiaDataError
from agentgym_envs.sotopia.data.sources import read_profiles
from agentgym_envs.sotopia.play.episode import agreed
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import TurnError, masks
from agentgym_envs.sotopia.protocol.profiles import Scene
from agentgym_envs.sotopia.protocol.views import judge_background


class Conversations:
    """Conversations of items, with the profiles of `folder`, or those that were imported."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @cached_property
    def profiles(self) -> ProfileSet | None:
        """The profiles; None if there are none. Raises `SotopiaDataError`, `OSError`."""
        if self._folder is not None:
            return read_profiles(self._folder)
        catalogue = Catalogue.open(data_home())
        return None if catalogue is None else catalogue.profiles

    def of(self, item: Item) -> Conversation | None:
        """The conversation of an item with all that a judge reads; None of a transcript.

        Raises `NoRating` where it cannot be found, or is not over.
        """
        match item:
            case Conversation():
                return item
            case Social():
                return _with(social_episode(item).scene, item, item.log)
            case Episode(episode=one):
                scene = one.scene or self._scene(one.environment, one.agents, one.names)
                return _with(scene, item, one.log)
            case Recording(record=one):
                _check_end(one)
                if one.judge_background is None:
                    return _with(self.scene_of(one), item, one.log)
                return Conversation(id=item.id, background=one.judge_background, names=one.names, log=one.log)
            case Transcript():
                return None
        assert_never(item)

    def scene_of(self, record: RecordedTalk) -> Scene:
        """The profiles of a record. Raises `NoRating`."""
        if record.is_published:
            return self._scene(record.scenario, record.agents, record.names)
        return _verifier(record).scene

    def _scene(self, scenario: str, agents: tuple[str, str], names: tuple[str, str]) -> Scene:
        try:
            profiles = self.profiles
            if profiles is None:
                raise NoRating(
                    "unsupported",
                    "no profiles of Sotopia: give --profiles, or `agentevol data import sotopia DIR`",
                )
            scene = profiles.scene_of(scenario, agents)
        except (SotopiaDataError, OSError) as cause:
            raise NoRating("unsupported", str(cause)) from None
        if scene.names != names:
            told, known = (" and ".join(both) for both in (names, scene.names))
            raise NoRating("unsupported", f"the record is of {told}, its profiles are of {known}")
        return scene


def social_episode(item: Social) -> SocialEpisode:
    """The episode of a recorded conversation of `social`. Raises `NoRating`."""
    try:
        return replayed(item.task_id, item.seed, item.log)
    except (TaskNotFound, TurnError) as cause:
        raise NoRating("unsupported", str(cause)) from None


def recorded_outcomes(record: RecordedTalk) -> tuple[Outcome, Outcome]:
    """Outcomes of a generated task, by the actions of the record. Raises `NoRating`."""
    _check_end(record)
    verifier = _verifier(record)
    # A seat that might not act has no part in a step: doing nothing would be an answer.
    for acting, both in zip(masks(record.order, record.seed), record.log, strict=False):
        agreed(verifier, {seat: verifier.said(both[seat]) for seat in (0, 1) if acting[seat]})
    first, second = (verifier.outcome(seat, record.end_reasons, record.log) for seat in (0, 1))
    return first, second


def _verifier(record: RecordedTalk) -> TaskVerifier:
    try:
        return TaskVerifier(task(record.task_id, tuple(FAMILIES)), record.seed)
    except TaskNotFound as cause:
        raise NoRating("unsupported", str(cause)) from None


def _check_end(record: RecordedTalk) -> None:
    if record.status == "unfinished":
        raise NoRating("unsupported", "the conversation is not over: a partner failed")


def _with(scene: Scene, item: Item, log: Sequence[tuple[Action, Action]]) -> Conversation:
    return Conversation(
        id=item.id, background=judge_background(scene), names=scene.names, log=tuple(log), scene=scene
    )
