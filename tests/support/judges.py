"""Judges for tests: scores by counting, and failures of every kind."""

import asyncio

from agentevol.core.judges import JudgedEpisode, Verdict


class Brief:
    """Score by the number of turns, from 10 for none down to 0. `asked` counts the episodes of all judges."""

    scale, stochastic = (0.0, 10.0), False
    asked = 0
    closed = 0

    def __init__(self, *, version: str = "1", offset: float = 0.0) -> None:
        self.version, self.offset = version, offset

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        type(self).asked += 1
        turns = float(len(episode.turns))
        return Verdict(max(0.0, 10.0 - turns + self.offset), f"{turns:g} turns", {"turns": turns})

    async def close(self) -> None:
        type(self).closed += 1


class Picky(Brief):
    """Brief for the first sample of a task; every other one fails in its own way."""

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        match len(episode.turns) % 4:
            case 1:
                raise RuntimeError("no idea")
            case 2:
                return Verdict(None, "it is in another language")
            case 3:
                return Verdict(11.0)
            case _:
                return await super().judge(episode)


class Silent(Brief):
    """Never answers."""

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        await asyncio.Event().wait()
        raise AssertionError(episode)


class Broken(Brief):
    """Raises for every episode."""

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        raise ConnectionError(f"nobody answers about {episode.env}")
