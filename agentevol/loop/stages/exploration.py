"""Exploration rounds: their requests, play and summary."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import drawn
from agentevol.core.summaries import AHEAD
from agentevol.data.groups import task_of
from agentevol.data.selection.filters import informative
from agentevol.data.selection.statistics import group_figures
from agentevol.loop.control.controllers import turns_allowed
from agentevol.loop.league.draws import Candidate
from agentevol.loop.league.figures import figures as league_figures
from agentevol.loop.league.figures import lines
from agentevol.loop.league.league import League, partner_of
from agentevol.loop.stages.async_exploration import AsyncExploration
from agentevol.loop.state.context import RunContext
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.metrics import endings
from agentevol.rollout.tasks import EnvTask
from agentgym_store.records import Trajectory


class Exploration:
    """Exploration rounds of one run. Several may be played at once, each by a separate thread."""

    def __init__(self, context: RunContext) -> None:
        self._context, self._config = context, context.config
        self._alone = context.config.by_environment
        self._league = League(context.folder, context.manifests)
        self._ahead = AsyncExploration(
            self._config.rollout.rounds_ahead, self._config.iterations, context.given_up
        )

    def episodes(self, iteration: int, policy: Checkpoint) -> list[Trajectory]:
        """Episodes of this iteration's round, in the order of their ids; empty once it has finished.

        A round that was begun ahead is waited for.
        """
        if self._context.has_finished(iteration):
            return []
        if iteration not in self._ahead:
            if self._config.rollout.mode == "one_step_off" and iteration > 1:  # a resumed run
                policy = self._context.folder.checkpoints.accepted(iteration - 2)
            return self.round(iteration, policy)
        with self._context.drafts.timed(iteration, "wait"):
            return self._ahead.episodes(iteration)

    def begin_ahead(self, iteration: int, policy: Checkpoint) -> None:
        """Begin the rounds that may be explored while `iteration` is trained on (`rollout.*`)."""
        rounds = self._ahead.missing(iteration)
        if not rounds or self._context.has_finished(iteration):
            return
        for number in rounds:
            self._ahead.begin(number, partial(self.round, number, policy, ahead=True))

    def settle(self, iteration: int) -> None:
        """With `one_step_off`, wait for the rounds under way."""
        if self._config.rollout.mode == "one_step_off":
            with self._context.drafts.timed(iteration, "wait"):
                self._ahead.settle()

    def close(self) -> None:
        """Cancel the rounds under way, and wait for their end."""
        self._ahead.close()

    def round(self, iteration: int, policy: Checkpoint, *, ahead: bool = False) -> list[Trajectory]:
        """K sampled episodes of every task of this iteration, from the table, in the order of their ids.

        With `ahead`, an asynchronous run plays them with the weights that the engines hold: `policy` or
        newer.
        """
        loaded = None if ahead and self._config.rollout.mode == "asynchronous" else policy
        phase = AHEAD if ahead else "explore"
        tasks = {name: own.explore.tasks for name, own in self._alone.items()}
        first, rounds = Counter[str](), 0
        replayed = aborted = 0
        explored, asked = list[Trajectory](), dict[str, EpisodeRequest]()
        limit = turns_allowed(
            self._config.horizon, iteration, self._context.folder.summaries.earlier(iteration)
        )
        if limit is not None:
            self._context.say(iteration, f"episodes of at most {limit} turns")
        partners = self._league.candidates(iteration)
        for _ in range(1 + self._config.explore.resample):
            wanted = self._requests(iteration, first, tasks, limit, partners)
            requests = [request for request in wanted if request.id not in asked]
            if not requests:  # the split has no further task
                break
            with self._context.drafts.timed(iteration, phase):
                played = self._context.episodes.play(
                    "explore", iteration, loaded, requests, self._config.explore_sampling
                )
            rounds += 1
            replayed, aborted = replayed + played.replayed, aborted + played.aborted
            asked |= {request.id: request for request in requests}
            # a run that was killed in a later round has some of that round's episodes already
            explored = [t for t in self._context.episodes.explored(iteration) if t.episode in asked]
            self._context.episodes.stop_if_too_many_failed(explored)
            first = Counter(env for env, _ in {(one.env, one.task_id) for one in asked.values()})
            told = Counter(env for env, _ in {task_of(t) for t in informative(explored)})
            tasks = {name: own.explore.tasks - told[name] for name, own in self._alone.items()}
            if not any(count > 0 for count in tasks.values()):
                break
        self._context.drafts.note(
            iteration,
            requested=len(asked),
            explored=endings(explored),
            replayed=replayed,
            aborted=aborted,
            selection=self._figures(explored, rounds, limit),
        )
        self._note_seats(iteration, list(asked.values()), partners)
        self._context.manifests.explored(iteration, policy, explored)
        return explored

    def _figures(self, explored: Sequence[Trajectory], rounds: int, limit: int | None) -> dict[str, float]:
        """Figures of the round."""
        figures = {} if limit is None else {"horizon": float(limit)}
        compares_groups = self._context.objective.algorithm.data == "groups"
        if compares_groups and not self._config.reward.on:
            figures |= {"gen_batches_used": float(rounds), **group_figures(explored)}
        return figures

    def _note_seats(
        self, iteration: int, requests: Sequence[EpisodeRequest], partners: Sequence[Candidate]
    ) -> None:
        """Note the seats that the policy played, and results beside partners of a league."""
        seats, further_seats = policy_seats(requests)
        league = self._league.note(iteration, partners, requests)
        for line in lines(league):
            self._context.say(iteration, line)
        known = self._context.drafts.of(iteration).selection
        self._context.drafts.note(
            iteration,
            seats=seats,
            further_seats=further_seats,
            league=league,
            selection={**known, **league_figures(league)},
        )

    def _requests(
        self,
        iteration: int,
        first: Mapping[str, int],
        count: Mapping[str, int],
        limit: int | None,
        partners: Sequence[Candidate],
    ) -> list[EpisodeRequest]:
        """Requests of `count` tasks of each environment in this iteration, from its task number `first` on,
        with equal partners next to each other: a worker has the weights of few at once. Those of several
        environments alternate.
        """
        found = [
            ((number - first[name] + 0.5) / count[name], request)
            for name, own in self._alone.items()
            for number, task in enumerate(self._tasks(iteration, own, first[name], count[name]), first[name])
            for request in self._samples(iteration, number, task, limit, partners)
        ]
        order = {candidate.name: place for place, candidate in enumerate(partners)}
        found.sort(key=lambda one: (order.get(partner_of(one[1]), 0), one[0]))
        return [request for _, request in found]

    def _tasks(self, iteration: int, own: RunConfig, first: int, count: int) -> list[EnvTask]:
        """Explored tasks of one environment."""
        if count <= 0:
            return []
        config = own.explore
        most = config.tasks * (1 + config.resample)  # in every iteration, so that none repeats a task
        choice = drawn(own.seed, (iteration - 1) * most + first, count)
        split, name = own.explore_split, own.environment.name
        return self._context.episodes.tasks(split, config.difficulty, choice, name)

    def _samples(
        self,
        iteration: int,
        number: int,
        task: EnvTask,
        limit: int | None,
        partners: Sequence[Candidate],
    ) -> Iterator[EpisodeRequest]:
        """Requests of the samples of one task, which has this number in its iteration."""
        for attempt in range(self._config.explore.samples):
            request = self._context.episodes.request("explore", iteration, task, attempt, limit)
            yield self._league.seated(iteration, partners, number, request)


def policy_seats(requests: Collection[EpisodeRequest]) -> tuple[int, int]:
    """Seats that the policy plays in every one of these episodes, and those that it plays beside."""
    played = [request.seats if request.policy_seat is None else 1 for request in requests]
    fewest = min(played, default=1)
    return fewest, sum(played) - fewest * len(played)
