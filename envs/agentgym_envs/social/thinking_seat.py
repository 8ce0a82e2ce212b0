"""Seat of an agent in an episode beside its partner, with what it has said and heard: `ThinkingSeat`."""

from agentgym_envs.social.episode import Episode
from agentgym_envs.social.thoughts import Talk, Thought
from agentgym_envs.sotopia.protocol.actions import Action, from_text


class ThinkingSeat:
    """The agent's seat of an episode, played by a thinker or from outside."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        task = episode.task
        self._thinker, self._talk = task.family.thinker(task.setting, task.seat), Talk()
        self._listen()

    def think(self) -> Thought:
        """Next utterance of the thinker, with the reasons for it."""
        return self._thinker.think(self._talk)

    def act(self, action: Action) -> None:
        """Take an action, and hear the partner's reply."""
        episode, seat = self.episode, self.episode.task.seat
        episode.act(action)
        own = episode.latest(seat)
        self._talk.own += [own] if own is not None else []
        if not episode.ended:
            self._listen()

    def play_on(self) -> None:
        """Let the thinker act until the end."""
        while not self.episode.ended:
            self.act(from_text(self.think().words))

    def _listen(self) -> None:
        heard = self.episode.latest(1 - self.episode.task.seat)
        self._talk.heard += [heard] if heard is not None else []
