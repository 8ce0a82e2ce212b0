"""Exploration rounds: their requests, play and summary."""

from agentevol.config.run import RunConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import drawn
from agentevol.core.summaries import AHEAD
from agentevol.data.selection.filters import informative
from agentevol.data.selection.statistics import group_figures
from agentevol.loop.control.controllers import turns_allowed
from agentevol.loop.state.episodes import Episodes
from agentevol.loop.state.manifest_writer import ManifestWriter
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.loop.state.summary_builder import SummaryBuilder
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.metrics import endings
from agentgym_store.records import Trajectory


class Exploration:
    """Exploration rounds of `folder`'s run. Several may be played at once, each by a separate thread."""

    def __init__(
        self,
        folder: RunFolder,
        episodes: Episodes,
        drafts: SummaryBuilder,
        ledger: ManifestWriter,
        progress: Progress,
    ) -> None:
        self._config: RunConfig = folder.config
        self._folder, self._episodes = folder, episodes
        self._drafts, self._ledger, self._progress = drafts, ledger, progress
        learn, self._sampling = self._config.learn, self._config.explore_sampling
        self._compares_groups = objective(learn.algorithm, learn.options).algorithm.data == "groups"

    def round(self, iteration: int, policy: Checkpoint, *, ahead: bool = False) -> list[Trajectory]:
        """K sampled episodes of every task of this iteration, from the table, in the order of their ids.

        With `ahead`, an asynchronous run plays them with the weights that the engines hold: `policy` or
        newer.
        """
        loaded = None if ahead and self._config.rollout.mode == "asynchronous" else policy
        phase = AHEAD if ahead else "explore"
        tasks, requested, rounds = self._config.explore.tasks, 0, 0
        replayed = aborted = 0
        explored, asked = list[Trajectory](), set[str]()
        limit = turns_allowed(self._config.horizon, iteration, self._folder.earlier(iteration))
        if limit is not None:
            self._progress.say(f"iteration {iteration}: episodes of at most {limit} turns")
        for _ in range(1 + self._config.explore.resample):
            wanted = self._requests(iteration, requested // self._config.explore.samples, tasks, limit)
            requests = [request for request in wanted if request.id not in asked]
            if not requests:  # the split has no further task
                break
            with self._drafts.timed(iteration, phase):
                played = self._episodes.play("explore", iteration, loaded, requests, self._sampling)
            requested, rounds = requested + len(requests), rounds + 1
            replayed, aborted = replayed + played.replayed, aborted + played.aborted
            asked |= {request.id for request in requests}
            # a run that was killed in a later round has some of that round's episodes already
            explored = [t for t in self._episodes.of("explore", iteration) if t.id in asked]
            self._episodes.stop_if_too_many_failed(explored)
            tasks = self._config.explore.tasks - len({t.task_id for t in informative(explored)})
            if tasks <= 0:
                break
        figures = {} if limit is None else {"horizon": float(limit)}
        if self._compares_groups and not self._config.reward.on:
            figures |= {"gen_batches_used": float(rounds), **group_figures(explored)}
        self._drafts.note(
            iteration,
            requested=requested,
            explored=endings(explored),
            replayed=replayed,
            aborted=aborted,
            selection=figures,
        )
        self._ledger.explored(iteration, policy, explored)
        return explored

    def _requests(self, iteration: int, first: int, count: int, limit: int | None) -> list[EpisodeRequest]:
        """Requests of `count` tasks of this iteration, from its task number `first` on."""
        config = self._config.explore
        most = config.tasks * (1 + config.resample)  # in every iteration, so that none repeats a task
        choice = drawn(self._config.seed, (iteration - 1) * most + first, count)
        return [
            self._episodes.request("explore", iteration, task, attempt, limit)
            for task in self._episodes.tasks(self._config.explore_split, config.difficulty, choice)
            for attempt in range(config.samples)
        ]
