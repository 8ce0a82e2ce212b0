"""Context of a run, which its stages share."""

from dataclasses import dataclass
from functools import cached_property
from threading import Event

from agentevol.cluster.cluster import Cluster
from agentevol.config.run import RunConfig
from agentevol.core.algorithms.registry import Objective, objective
from agentevol.core.protocols import Checkpoint
from agentevol.core.splits import iteration_seed
from agentevol.loop.state.cache import CacheKeys
from agentevol.loop.state.episodes import Episodes
from agentevol.loop.state.manifest_writer import ManifestWriter
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder, recorder_of
from agentevol.loop.state.summary_builder import SummaryBuilder
from agentevol.loop.state.system_log import SystemLog
from agentevol.loop.tracking.recorder import Recorder
from agentevol.rollout.faults import FaultLog


@dataclass(frozen=True)
class RunContext:
    """Folder, processes and records of one run. Every stage reads and writes its results here."""

    folder: RunFolder
    cluster: Cluster
    url: str
    """URL of the environment server."""
    base: Checkpoint
    """Model that the run begins with."""
    progress: Progress
    faults: FaultLog
    episodes: Episodes
    drafts: SummaryBuilder
    manifests: ManifestWriter
    keys: CacheKeys
    recorder: Recorder
    """Recorder of metrics. Whoever runs the loop closes it."""
    system: SystemLog
    given_up: Event
    """Set when rounds explored ahead are no longer needed: their episodes under way are abandoned."""

    @classmethod
    def of(
        cls,
        folder: RunFolder,
        cluster: Cluster,
        url: str,
        base: Checkpoint,
        progress: Progress,
        faults: FaultLog | None = None,
    ) -> "RunContext":
        """Context of the run in `folder`, whose rollout workers hold `base`."""
        given_up, system = Event(), SystemLog()
        return cls(
            folder,
            cluster,
            url,
            base,
            progress,
            faults or FaultLog(),
            Episodes(folder, cluster, url, base, progress, given_up, system),
            SummaryBuilder(),
            ManifestWriter(folder),
            CacheKeys(folder.config, base),
            recorder_of(folder, progress.say),
            system,
            given_up,
        )

    @property
    def config(self) -> RunConfig:
        """Configuration of the run."""
        return self.folder.config

    @cached_property
    def objective(self) -> Objective:
        """Algorithm of the policy's training, with its options."""
        return objective(self.config.learn.algorithm, self.config.learn.options)

    def seed(self, iteration: int) -> int:
        """Seed of an iteration's drawings."""
        return iteration_seed(self.config.seed, iteration)

    def has_finished(self, iteration: int) -> bool:
        """Return whether the summary of an iteration is on disk: its stages have nothing left to do."""
        return self.folder.summaries.of(iteration) is not None

    def say(self, iteration: int, text: str) -> None:
        """Print one line about an iteration."""
        self.progress.say(f"iteration {iteration}: {text}")
