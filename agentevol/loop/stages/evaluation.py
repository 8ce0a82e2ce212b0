"""Evaluation of an iteration's policy, which finishes the iteration."""

from agentevol.core.protocols import Checkpoint
from agentevol.core.summaries import EvaluationSummary, best
from agentevol.data.selection.statistics import outcomes, since_previous
from agentevol.loop.control.collapse import collapsed
from agentevol.loop.stages.acceptance import Acceptance
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.stages.rewards import Rewards
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.held_out_tasks import HeldOut, held_out_tasks, summary_of
from agentevol.rollout.metrics import compared


class Evaluation:
    """Evaluations of one run, and the stop that follows from them."""

    def __init__(
        self, context: RunContext, mixture: DataMixture, rewards: Rewards, acceptance: Acceptance
    ) -> None:
        self._context, self._mixture = context, mixture
        self._rewards, self._acceptance = rewards, acceptance

    def evaluate(self, iteration: int, policy: Checkpoint) -> None:
        """Play the held-out tasks and the validation tasks, then mark the iteration as finished."""
        context = self._context
        if context.has_finished(iteration):
            return
        if context.episodes.loaded != policy:
            raise RuntimeError(f"the engines hold {context.episodes.loaded.path}, not {policy.path}")
        if iteration == 0:
            self._acceptance.measure_first(policy)
        test = self.of(iteration, "test")
        validation = self.of(iteration, "validation")
        figures = {**self._probed(iteration, policy), **self._rewards.process.watched(iteration)}
        context.drafts.note(
            iteration,
            checkpoint=policy.path.name,
            table_version=context.folder.store.version(),
            evaluation=test,
            validation=validation,
            proxy=self._rewards.proxy(iteration),
            learn={**context.drafts.of(iteration).learn, **figures},
            system=context.system.take(context.cluster.usage()),
            faults=context.faults.take(),
        )
        context.manifests.evaluated(iteration, policy, context.episodes.of("evaluate", iteration))
        self._finish(iteration)

    def of(self, iteration: int, held_out: HeldOut) -> EvaluationSummary:
        """Evaluation of the weights in the engines on held-out tasks.

        Raises `RunStopped` where too many episodes failed.
        """
        context, config = self._context, self._context.config
        tasks = held_out_tasks(context.episodes, config, held_out)
        requests = [context.episodes.request("evaluate", iteration, task, 0) for task in tasks]
        splits = sorted({task.split for task in tasks})
        with context.drafts.timed(iteration, f"evaluate {', '.join(splits)}"):
            context.episodes.play("evaluate", iteration, None, requests, config.evaluate_sampling)
        wanted = {request.id for request in requests}
        evaluated = [t for t in context.episodes.of("evaluate", iteration) if t.episode in wanted]
        context.episodes.stop_if_too_many_failed(evaluated)
        return compared(
            summary_of(config, evaluated, held_out),
            since_previous(context.episodes.outcomes("evaluate", iteration - 1, splits), outcomes(evaluated)),
        )

    def has_stalled(self, iteration: int) -> bool:
        """Return whether `evaluate.patience` iterations have passed without a better checkpoint on the
        validation tasks, the reward model is exploited (`reward.patience`), or the policy has collapsed
        (`guards.collapse`).
        """
        folder = self._context.folder
        if self._rewards.is_exploited(iteration, folder.summaries.earlier(iteration + 1)):
            return True
        if self._has_collapsed(iteration):
            return True
        patience = self._context.config.evaluate.patience
        if patience is None:
            return False
        leader = best(folder.summaries.run())
        return leader is not None and iteration - leader.iteration >= patience

    def _has_collapsed(self, iteration: int) -> bool:
        """Tell of figures of exploration that have collapsed; returns whether the run stops for them."""
        rule = self._context.config.guards.collapse
        if rule == "off":
            return False
        lines = list(collapsed(self._context.folder.summaries.earlier(iteration + 1)))
        for line in lines:
            self._context.say(iteration, f"warning, {line}" if rule == "warn" else f"{line}: the run stops")
        return bool(lines) and rule == "stop"

    def _probed(self, iteration: int, policy: Checkpoint) -> dict[str, float]:
        """Perplexity of the policy on the sequences of `probe.data`."""
        sequences = self._mixture.probe()
        if not sequences:
            return {}
        with self._context.drafts.timed(iteration, "probe"):
            return {"probe_ppl": self._context.cluster.perplexity(policy, sequences)}

    def _finish(self, iteration: int) -> None:
        """Write the summary of an iteration, which marks it as finished, and record its metrics."""
        folder, summary = self._context.folder, self._context.drafts.take(iteration)
        folder.summaries.finish(summary)
        folder.forget_shares()
        self._context.recorder.log(summary)
        self._context.progress.finished(summary)
