"""Conversations of items: `Conversations` finds the profiles of recorded ones by their keys."""

from functools import cached_property
from pathlib import Path

from agentevol.data.judgements.items import Conversation, Episode, Item, Social
from agentevol.data.judgements.outcomes import NoRating
from agentgym_envs.core import TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.social.episode import Episode as SocialEpisode
from agentgym_envs.social.replay import replayed
from agentgym_envs.sotopia.data.library import Catalogue
from agentgym_envs.sotopia.data.profile_set import ProfileSet, SotopiaDataError
from agentgym_envs.sotopia.data.sources import read_profiles
from agentgym_envs.sotopia.protocol.conversation import TurnError
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

        Raises `NoRating` where it cannot be found.
        """
        if isinstance(item, Conversation):
            return item
        if isinstance(item, Social):
            return _of_scene(social_episode(item).scene, item)
        return _of_scene(self._scene(item), item) if isinstance(item, Episode) else None

    def _scene(self, item: Episode) -> Scene:
        episode = item.episode
        if episode.scene is not None:
            return episode.scene
        try:
            profiles = self.profiles
            if profiles is None:
                raise NoRating(
                    "unsupported",
                    "no profiles of Sotopia: give --profiles, or `agentevol data import sotopia DIR`",
                )
            scene = profiles.scene_of(episode.environment, episode.agents)
        except (SotopiaDataError, OSError) as cause:
            raise NoRating("unsupported", str(cause)) from None
        if scene.names != episode.names:
            told, known = (" and ".join(names) for names in (episode.names, scene.names))
            raise NoRating("unsupported", f"the record is of {told}, its profiles are of {known}")
        return scene


def social_episode(item: Social) -> SocialEpisode:
    """The episode of a recorded conversation of `social`. Raises `NoRating`."""
    try:
        return replayed(item.task_id, item.seed, item.log)
    except (TaskNotFound, TurnError) as cause:
        raise NoRating("unsupported", str(cause)) from None


def _of_scene(scene: Scene, item: Episode | Social) -> Conversation:
    return Conversation(
        id=item.id,
        background=judge_background(scene),
        names=scene.names,
        log=tuple(item.episode.log if isinstance(item, Episode) else item.log),
        scene=scene,
    )
