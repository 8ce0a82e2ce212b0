"""Content of an episode, by which it is a repetition of another one."""

from agentgym_store.records import Trajectory, message_of


def content_of(episode: Trajectory) -> object:
    """Content of an episode, whoever played it and when: task, texts, rewards and ending."""
    turns = [(message_of(turn), turn.action, turn.observation, turn.reward) for turn in episode.turns]
    return [
        *(episode.env, episode.env_version, episode.data_version, episode.task_id, episode.seat),
        *(episode.instruction, episode.initial_observation, episode.given_turns, episode.ending.kind),
        *(turns,),
    ]
