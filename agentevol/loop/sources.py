"""Where the rows of a run come from: its selections, earlier ones, the expert's, and what it has retained."""

from collections.abc import Sequence

from agentevol.config.run import RunConfig
from agentevol.learn.algorithms import objective
from agentevol.learn.fitting import NothingToLearn
from agentevol.loop.demonstrations import demonstrate, demonstration_rows
from agentevol.loop.drafts import Drafts
from agentevol.loop.episodes import Episodes
from agentevol.loop.learnt import Versions, versions
from agentevol.loop.probe import FILE as PROBE
from agentevol.loop.probe import from_lines, probe_rows, to_lines
from agentevol.loop.retention import last_stage
from agentevol.loop.select import fresh, informative, select
from agentevol.progress import Progress
from agentevol.protocols import Anchor, Checkpoint, TrainingSequence
from agentevol.rows.examples import rows_of
from agentevol.rows.memory import Old, copied, replayed, retained_episodes, retained_rows, said_in
from agentevol.run_folder import RunFolder, write_atomically
from agentevol.tasks import drawn
from agentgym_store.records import Trajectory


class Sources:
    """What one run learns from, and what its learning holds on to. It is played or copied once."""

    def __init__(
        self,
        folder: RunFolder,
        url: str,
        base: Checkpoint,
        episodes: Episodes,
        drafts: Drafts,
        progress: Progress,
    ) -> None:
        self.config: RunConfig = folder.config
        self._folder, self._url, self._base = folder, url, base
        self._episodes, self._drafts, self._progress = episodes, drafts, progress
        self._objective = objective(self.config.learn.algorithm, self.config.learn.options)

    def rows(self, iteration: int, explored: Sequence[Trajectory]) -> list[TrainingSequence]:
        """Of the selection of explored episodes; says so where nothing can be made of them."""
        seed = self.config.seed * 1000 + iteration
        chosen = select(explored, self.config.select, seed)
        if self.config.explore.resample:
            chosen = informative(chosen)
        try:
            # a run stands on its own: what it was begun with may be gone, or be another model by now
            own = self.config.model_copy(update={"base": str(self._base.path)})
            return rows_of(chosen, self._objective, own, seed)
        except NothingToLearn as reason:
            self._progress.say(f"iteration {iteration}: {reason}")
            return []

    def beside(
        self, iteration: int, rows: Sequence[TrainingSequence]
    ) -> tuple[list[TrainingSequence], Versions, dict[str, str]]:
        """What is learnt beside `rows`, as `select.merge` says; which weights sampled it; and by episode the
        environment of what was replayed.
        """
        match self.config.select.merge:
            case "replay":
                earlier, sampled_by = self._old(iteration)
                old = earlier + self.retained()
                environment, seed = self.config.environment.name, self.config.seed * 1000 + iteration
                added = replayed(rows, old, environment, self.config.replay, seed)
                return added, sampled_by, {one.row.trajectory_id: one.environment for one in old}
            case "cumulative":
                earlier, sampled_by = self._old(iteration)
                return [one.row for one in earlier], sampled_by, {}
            case "expert":
                return self.demonstrations(), {}, {}
            case "none":
                return [], {}, {}

    def _old(self, iteration: int) -> tuple[list[Old], Versions]:
        """Rows of what the run has learnt before this iteration: of earlier ones, of demonstrations.

        Also which weights sampled them.
        """
        rows, stale, sampled_by = list[TrainingSequence](), 0, Versions()
        for earlier in range(1, iteration):
            explored = self._episodes.of("explore", earlier)
            current = fresh(explored, self.config.select.max_lag, iteration - 1)
            stale += len(explored) - len(current)
            rows += self.rows(earlier, current)
            sampled_by |= versions(current)
        self._drafts.note(iteration, stale=stale)
        environment = self.config.environment.name
        return [Old(environment, row) for row in (*rows, *self.demonstrations())], sampled_by

    def retained(self) -> list[Old]:
        """Rows of `retained.data`, whose episodes are copied into the run's own table once."""
        config = self.config
        if config.retained.data is None:
            return []
        there = self._episodes.of("retain", 0)
        if not there:
            there = copied(retained_episodes(config), config.name)
            self._episodes.append(there, 0, "retain")
        return retained_rows(there, self._objective, config, self._base)

    def demonstrations(self) -> list[TrainingSequence]:
        """Of the environment's expert, which plays `demonstrations.tasks` once."""
        config = self.config
        if not config.demonstrations.tasks:
            return []
        shown = self._episodes.of("demonstrate", 0)
        if len(shown) < config.demonstrations.tasks:
            choice = drawn(config.seed, 0, config.demonstrations.tasks)
            tasks = self._episodes.tasks(config.explore_split, config.explore.difficulty, choice)
            there = {t.id for t in shown}
            requests = [self._episodes.request("demonstrate", 0, task, 0) for task in tasks]
            played = demonstrate(config.environment, self._url, [r for r in requests if r.id not in there])
            if played:
                self._episodes.append(played, 0, "demonstrate")
            shown = self._episodes.of("demonstrate", 0)
        return demonstration_rows(shown, self._base, config)

    def anchor_checkpoint(self, iteration: int) -> Checkpoint:
        """The policy that learning holds on to: the first, or with online EWC the latest."""
        ewc = self.config.learn.ewc
        return self._folder.checkpoint(iteration - 1 if ewc is not None and ewc.online else 0)

    def anchor(self, iteration: int) -> Anchor:
        """What learning holds on to, with rows for the Fisher information where it is asked for."""
        config, checkpoint = self.config.learn.ewc, self.anchor_checkpoint(iteration)
        if config is None:
            return Anchor(checkpoint)
        stage = last_stage(self._folder.earlier(iteration)) if config.online else 0
        if stage:
            rows = said_in(self.rows(stage, self._episodes.of("explore", stage)))
        else:
            rows = [*self.demonstrations(), *(one.row for one in self.retained())]
        return Anchor(checkpoint, rows, None if config.online else self._folder.path / "ewc.safetensors")

    def probe(self) -> list[TrainingSequence]:
        """The rows of `probe.data`, which are copied into the run once."""
        if self.config.probe.data is None:
            return []
        file = self._folder.path / PROBE
        if not file.is_file():
            write_atomically(file, to_lines(probe_rows(self.config, self._base)))
        return from_lines(file.read_text())
