"""Summaries of a run's finished iterations, on disk."""

from pathlib import Path

from agentevol.config.run import RunConfig
from agentevol.core.files import write_atomically
from agentevol.core.summaries import IterationSummary, RunSummary


class IterationSummaries:
    """Summaries in the folder of one run; the summary of an iteration marks it as finished."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        self._path, self._config = path, config
        self._read: dict[int, IterationSummary] = {}

    def of(self, iteration: int) -> IterationSummary | None:
        """Summary of a finished iteration, None if it has not finished; each file is read once."""
        if iteration not in self._read:
            file = self._file(iteration)
            if not file.is_file():
                return None
            self._read[iteration] = IterationSummary.model_validate_json(file.read_text())
        return self._read[iteration]

    def earlier(self, iteration: int) -> list[IterationSummary]:
        """Summaries of the finished iterations before this one."""
        found = [self.of(number) for number in range(iteration)]
        return [summary for summary in found if summary is not None]

    def finish(self, summary: IterationSummary) -> None:
        """Mark an iteration as finished."""
        write_atomically(self._file(summary.iteration), summary.model_dump_json(indent=1))
        self._read.pop(summary.iteration, None)  # the next reader gets the content of the file

    def finished(self) -> list[int]:
        """Numbers of the finished iterations, ascending."""
        return sorted(int(file.stem) for file in (self._path / "iterations").glob("[0-9]*.json"))

    def run(self) -> RunSummary:
        """Summary of all finished iterations."""
        iterations = (self.of(number) for number in self.finished())
        return RunSummary(
            run=self._config.name,
            environment=self._config.environment.name,
            config=self._config.model_dump(mode="json"),
            iterations=tuple(one for one in iterations if one is not None),
        )

    def _file(self, iteration: int) -> Path:
        return self._path / "iterations" / f"{iteration:04d}.json"
