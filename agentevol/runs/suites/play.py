"""Play of an evaluation suite, part by part; what is there already is not played again."""

from collections.abc import Callable, Sequence

from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.state.progress import Progress
from agentevol.runs.evaluation import Journal, trial
from agentevol.runs.seating import Seating
from agentevol.runs.suites.folder import SuiteFolder
from agentevol.runs.suites.plan import Part, SuitePlan, settings_of
from agentgym_store.records import Trajectory


def play_suite(plan: SuitePlan, folder: SuiteFolder, progress: Progress) -> None:
    """Play all parts that are not finished. Raises `ConfigError` where a model cannot be served."""
    for part in plan.parts:
        if not folder.is_finished(part):
            _play(plan, part, folder, progress)


def _play(plan: SuitePlan, part: Part, folder: SuiteFolder, progress: Progress) -> None:
    config = plan.config
    settings = settings_of(config, part.model)
    begun = folder.begun(part)
    done = {records[0].episode for records, _ in begun}
    again = f", {len(done):,} episodes are there already" if done else ""
    with progress.playing_once(f"{part.model.name} on {part.environment.name}{again}") as started:
        played = trial(
            part.model.model,
            part.config,
            part.environment.split,
            difficulty=part.environment.difficulty,
            episodes=part.tasks,
            temperature=settings.temperature,
            seed=config.seed,
            started=started,
            engine=settings.engine,
            max_new_tokens=settings.max_new_tokens,
            repeats=part.trials,
            seating=Seating(part.environment.partner),
            journal=Journal(part.run, done, _keeper(folder, part)),
        )
    for remark in played.remarks():
        progress.say(f"{part.name}: {remark}")
    folder.finish(part)
    progress.say(f"{part.name}: {len(played.trajectories) + len(done):,} episodes")


def _keeper(
    folder: SuiteFolder, part: Part
) -> Callable[[Sequence[EvaluationRecord], Sequence[Trajectory]], None]:
    def keep(records: Sequence[EvaluationRecord], played: Sequence[Trajectory]) -> None:
        named = [one.model_copy(update={"model": part.model.name}) for one in records]
        folder.keep(part, named, played)

    return keep
