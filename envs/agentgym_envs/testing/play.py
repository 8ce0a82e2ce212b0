"""Checks of whole episodes: determinism, isolation and declared returns."""

import math
from collections.abc import Iterator, Sequence

from agentgym_envs.core import StepResult, Task
from agentgym_envs.episodes import Episode, follow, idle, shuffled, spray
from agentgym_envs.testing.hostile import result_problems
from agentgym_envs.testing.subject import Subject, raised_by


def check_determinism(subject: Subject) -> Iterator[str]:
    """Equal task, seed and actions give equal episodes, on a fresh instance and on a used one."""
    if not subject.factory().deterministic:
        return
    used = subject.factory()
    for task in subject.drawn:
        actions = follow(subject.play(task, shuffled(subject.seed)).actions)
        first = subject.play(task, actions)
        if subject.play(task, actions) != first:
            yield f"{task.id!r}: two fresh instances give different episodes for equal seed and actions"
        if subject.play(task, actions, used) != first:
            yield f"{task.id!r}: an instance that played before gives another episode than a fresh one"
    used.close()


def check_isolation(subject: Subject) -> Iterator[str]:
    """Two instances, stepped in turn, each play what they play alone."""
    if not subject.factory().deterministic:
        return
    for left, right in zip(subject.drawn, reversed(subject.drawn), strict=True):
        alone = [subject.play(task, shuffled(subject.seed + 1)) for task in (left, right)]
        together = _interleaved(subject, [left, right], [episode.actions for episode in alone])
        if [list(episode.results) for episode in alone] != together:
            yield f"{left.id!r} and {right.id!r}: stepping one in between changes the other"


def _interleaved(
    subject: Subject, tasks: Sequence[Task], actions: Sequence[Sequence[str]]
) -> list[list[StepResult]]:
    """Results of the episodes stepped in turn; an instance whose episode is over is closed at once."""
    instances = [subject.factory() for _ in tasks]
    for instance, task in zip(instances, tasks, strict=True):
        subject.player.reset(instance, task, subject.seed)
    results: list[list[StepResult]] = [[] for _ in tasks]
    turns = [(turn, index) for turn in range(max(map(len, actions)) + 1) for index in range(len(tasks))]
    for turn, index in turns:
        if turn < len(actions[index]):
            results[index].append(subject.player.step(instances[index], actions[index][turn]))
        elif turn == len(actions[index]):
            instances[index].close()
    return results


def check_returns(subject: Subject) -> Iterator[str]:
    """Every reward and cost is finite and every return lies in `reward_range`, for all players."""
    for task in subject.drawn:
        plan = subject.factory().expert(task)
        players = {"idle": idle, "spray": spray, "random": shuffled(subject.seed)}
        for name, choose in {**players, **({"expert": follow(plan)} if plan is not None else {})}.items():
            episode = subject.play(task, choose)
            yield from _return_problems(subject, f"{task.id!r} played by {name}", episode)


def _return_problems(subject: Subject, what: str, episode: Episode) -> Iterator[str]:
    low, high = subject.factory().reward_range
    if not low - 1e-9 <= episode.total_reward <= high + 1e-9:  # rewards are summed in floating point
        yield f"{what}: return {episode.total_reward} outside {(low, high)}"
    for problem in {problem for result in episode.results for problem in result_problems(result)}:
        yield f"{what}: {problem}"


def check_close(subject: Subject) -> Iterator[str]:
    """An instance may be closed twice, unused or in the middle of an episode."""
    unused, playing = subject.factory(), subject.factory()
    for task in subject.drawn[:1]:
        subject.player.reset(playing, task, subject.seed)
    for where, environment in (("before any episode", unused), ("in an episode", playing)):
        subject.cases += 1
        if cause := raised_by(environment.close):
            yield f"close {where} raised {type(cause).__name__}: {str(cause)[:120]}"
        elif cause := raised_by(environment.close):
            yield f"the second close {where} raised {type(cause).__name__}: {str(cause)[:120]}"


def check_fork(subject: Subject) -> Iterator[str]:
    """A snapshot from the middle of an episode can be continued repeatedly, here and in another instance;
    equally if the environment is deterministic.
    """
    if not subject.factory().forkable:
        return
    before = subject.cases
    for task in subject.drawn:
        yield from _fork_problems(subject, task)
    if subject.cases == before:
        yield "no episode lasted long enough to be forked"


def _fork_problems(subject: Subject, task: Task) -> Iterator[str]:
    environment, other = subject.factory(), subject.factory()
    player, turns = subject.player, max(1, environment.max_turns // 2)
    start = player.play(environment, task, shuffled(subject.seed), seed=subject.seed, max_turns=turns)
    if start.over:  # too soon: the expert's way leads on for a while
        plan = environment.expert(task) or []
        start = player.play(environment, task, follow(plan[: len(plan) // 2]), seed=subject.seed)
    if start.over or not start.actions:
        return
    subject.cases += 1
    snapshot = environment.snapshot()
    observation = start.results[-1].observation
    rest = player.play_on(environment, observation, shuffled(subject.seed + 1), max_turns=turns)
    player.reset(other, subject.drawn[-1], subject.seed)
    for where, instance in (("the same instance", environment), ("another instance", other)):
        instance.restore(snapshot)
        again = player.play_on(instance, observation, follow(rest.actions), max_turns=turns)
        if again != rest and environment.deterministic:
            yield f"{task.id!r}: restored in {where}, equal actions go on differently"
        instance.close()


def check_expert(subject: Subject) -> Iterator[str]:
    """The expert, if there is one, earns the maximum within the turn limit on every task played."""
    for task in subject.drawn:
        environment = subject.factory()
        plan = environment.expert(task)
        if plan is None:
            continue
        episode = subject.play(task, follow(plan))
        high = environment.reward_range[1]
        if len(plan) > environment.max_turns:
            yield f"{task.id!r}: the expert needs {len(plan)} actions; max_turns is {environment.max_turns}"
        elif episode.total_reward < high - 1e-9:
            yield f"{task.id!r}: the expert earns {episode.total_reward}, not {high}"
        elif not episode.over:
            yield f"{task.id!r}: the expert earns the maximum but the episode does not end"


def check_baselines(subject: Subject) -> Iterator[str]:
    """Idle and spray play earn the declared mean returns."""
    environment = subject.factory()
    for name, choose in {"idle": idle, "spray": spray}.items():
        if name not in environment.baselines:
            yield f"baselines declares nothing for {name!r}"
            continue
        returns = [subject.play(task, choose).total_reward for task in subject.drawn]
        low, high = environment.baselines[name]
        least, most = environment.reward_range
        mean = sum(returns) / len(returns)
        spread = 0.0 if subject.all_drawn else _chance(low, high, least, most, len(returns))
        if not low - spread - 1e-9 <= mean <= high + spread + 1e-9:
            yield f"{name} earns {mean:.3f} on average of {len(returns)} tasks; declared is {low} to {high}"


def _chance(low: float, high: float, least: float, most: float, count: int) -> float:
    """Three standard errors of a mean of `count` returns in [least, most] whose true mean is `low` or `high`.

    0 if both are an end of the range: a constant return has no variance.
    """
    variance = max((mean - least) * (most - mean) for mean in (low, high))
    return 3 * math.sqrt(max(0.0, variance) / count)
