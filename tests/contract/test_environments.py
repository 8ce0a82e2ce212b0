"""Every registered environment keeps the contract, and the check notices each way of breaking it."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.server.atlas import RECORD, Atlas, Greedy, write_atlas
from support.server.changing_tools import Safe

from agentgym_envs import registry
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.guess import Guess, GuessTask
from agentgym_envs.testing import CHECKS, HOSTILE, Report, check_environment


def violations(report: Report, check: str) -> tuple[str, ...]:
    return next(result.violations for result in report.results if result.name == check)


OPTIONAL = {"fork", "expert", "waits", "seats", "tools", "assets"}
"""Checks of what an environment may lack."""
REPEATED = {"determinism", "isolation"}
"""Checks that repeat an episode."""


SLOW = {"sciworld"}
"""Environments whose gold paths take seconds each."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.slow) if one in SLOW else one for one in registry.REGISTRY],
)
def test_a_registered_environment_keeps_the_contract(name: str) -> None:
    if needs := registry.lacking(name):
        pytest.skip(f"{name} needs {needs}")
    try:
        optional = OPTIONAL if registry.make(name).deterministic else OPTIONAL | REPEATED
    except registry.EnvironmentUnavailable as cause:
        pytest.skip(str(cause))
    report = check_environment(lambda: registry.make(name), tasks_per_split=2, rows_per_split=12)
    assert report.passed, "\n".join(report.lines())
    assert report.env == name
    assert {result.name for result in report.results} == set(CHECKS)
    assert all(result.cases > 0 for result in report.results if result.name not in optional)


def test_the_report_counts_what_was_looked_at() -> None:
    lines = check_environment(Guess).lines()
    assert lines[0] == "ok    facts       1 checked"
    assert f"ok    hostile     {2 * len(HOSTILE)} checked" in lines
    assert "ok    expert      8 checked" in lines  # all eight numbers: 4 + 2 + 2


class Costly(Guess):
    """Every guess costs `cost` of heat, and a noise that nobody judged."""

    cost: object = 0.5

    def step(self, action: str) -> StepResult:
        return super().step(action).model_copy(update={"costs": {"heat": self.cost, "noise": None}})


def test_costs_keep_the_contract_and_are_part_of_equal_episodes() -> None:
    assert check_environment(Costly).passed

    class Drifting(Costly):
        made = 0

        def __init__(self) -> None:
            Drifting.made += 1
            self.cost = float(Drifting.made)

    assert any(
        "different episodes" in line for line in violations(check_environment(Drifting), "determinism")
    )


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(float("nan"), "nan"), (float("inf"), "inf"), (-1, "-1"), ("1", "'1'"), (True, "True"), ([1], "[1]")],
)
def test_a_cost_that_is_no_number_of_at_least_0_is_told_in_one_line(cost: object, shown: str) -> None:
    class Bad(Costly):
        pass

    Bad.cost = cost
    line = f"the environment's cost 'heat' is {shown}, not a finite number of at least 0"
    report = check_environment(Bad)
    assert any(told.endswith(line) for told in violations(report, "returns"))
    assert f"empty: {line}" in violations(report, "hostile")


def test_costs_in_info_are_refused() -> None:
    class Shows(Guess):
        def step(self, action: str) -> StepResult:
            return super().step(action).model_copy(update={"info": {"costs": {"heat": 1}}})

    told = "info has 'costs', which agents see: return StepResult(costs=...)"
    assert f"empty: {told}" in violations(check_environment(Shows), "hostile")


class BadFacts(Guess):
    max_turns = 0


class SameIds(Guess):
    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        return [task.model_copy(update={"id": "guess-1"}) for task in super().tasks(split, difficulty)]


class AcceptsAnySplit(Guess):
    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        return super().tasks(split if split in self.splits else "train", difficulty)


class SameContent(Guess):
    """Test has its own ids, but the secrets of train."""

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        tasks = super().tasks(split, difficulty)
        return [task.model_copy(update={"secret": 5}) for task in tasks] if split == "test" else tasks

    def task(self, task_id: str) -> GuessTask:
        found = super().task(task_id)
        return next(task for task in self.tasks(found.split) if task.id == task_id)


class SameEpisode(SameContent):
    """As above, hidden by a field that differs: only the expert's episode shows it."""

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[GuessTask]:
        tasks = super().tasks(split, difficulty)
        return [task.model_copy(update={"kind": task.id}) for task in tasks]


class Remembers(Guess):
    """A counter of episodes survives `reset`."""

    episodes = 0

    def reset(self, task: GuessTask, seed: int) -> Observation:
        self.episodes += 1
        self.secret = task.secret
        return Observation(text=f"Make a guess. This is episode {self.episodes}.")


class SharesState(Guess):
    """The secret lives in the class: the instance reset last decides for all."""

    shared = 0

    def reset(self, task: GuessTask, seed: int) -> Observation:
        type(self).shared = task.secret
        return Observation(text="Make a guess.")

    def step(self, action: str) -> StepResult:
        self.secret = type(self).shared
        return super().step(action)


class ClosesAll(Guess):
    """Closing one instance closes what all of them use."""

    open = True

    def reset(self, task: GuessTask, seed: int) -> Observation:
        type(self).open = True
        self.secret = task.secret
        return Observation(text="Make a guess.")

    def step(self, action: str) -> StepResult:
        return super().step(action) if type(self).open else StepResult(observation=Observation(text="?"))

    def close(self) -> None:
        type(self).open = False


class ConvertsBlindly(Guess):
    """`int` refuses a megabyte of digits, and everything that is no number."""

    def step(self, action: str) -> StepResult:
        return super().step(str(int(action)))


class EchoesHalfCharacters(Guess):
    """The answer holds a lone surrogate, which no reply can carry."""

    def step(self, action: str) -> StepResult:
        return StepResult(observation=Observation(text=f"You said {action[:9]}\ud83e"))


class RewardsTwice(Guess):
    """Half a reward for any number at all, on top of the whole one."""

    def step(self, action: str) -> StepResult:
        result = super().step(action)
        return result.model_copy(update={"reward": result.reward + 0.5})


class RewardsNothingAtAll(Guess):
    def step(self, action: str) -> StepResult:
        return super().step(action).model_copy(update={"reward": float("nan")})


class ClosesOnce(Guess):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


class SnapshotForgets(Guess):
    """The snapshot lacks a part of the state: the number of hints given."""

    hints = 0

    def reset(self, task: GuessTask, seed: int) -> Observation:
        self.hints = 0
        self.secret = task.secret
        return Observation(text="Make a guess.")

    def step(self, action: str) -> StepResult:
        self.hints += 1
        result = super().step(action)
        text = f"{result.observation.text} ({self.hints})"
        return result.model_copy(update={"observation": Observation(text=text)})


class ExpertIsWrong(Guess):
    def expert(self, task: GuessTask) -> list[str]:
        return [str(task.secret + 1)]


class ExpertIsSlow(Guess):
    def expert(self, task: GuessTask) -> list[str]:
        return ["9"] * 4 + [str(task.secret)]


class PaysForSilence(Guess):
    """An empty answer wins, against the declaration that silence earns 0."""

    def step(self, action: str) -> StepResult:
        return super().step(action or str(self.secret))


class DeclaresTooMuch(Guess):
    baselines = {"idle": (0.0, 0.0), "spray": (0.9, 1.0)}  # noqa: RUF012 - a class fact


class ForgetsWhileItWaits(SharesState):
    """The secret of the episode whose coroutine ran last decides for all: no plain step shows it."""

    async def reset(self, task: GuessTask, seed: int) -> Observation:  # type: ignore[override] - coroutines are allowed
        self.secret = task.secret
        return Observation(text="Make a guess.")

    async def step(self, action: str) -> StepResult:  # type: ignore[override] - coroutines are allowed
        type(self).shared = self.secret
        await asyncio.sleep(0)
        return SharesState.step(self, action)


class CannotBeCancelled(Guess):
    async def step(self, action: str) -> StepResult:  # type: ignore[override] - coroutines are allowed
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return Guess.step(self, action)


class Race(Guess):
    """Two seats guess in turn; the one that finds the number wins."""

    seats = ("first", "second")

    def reset_seats(self, task: GuessTask, seed: int) -> Mapping[str, Observation]:
        return {"first": super().reset(task, seed)}

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        ((seat, action),) = actions.items()
        result = super().step(action)
        other = "second" if seat == "first" else "first"
        if not result.terminated:
            return {other: StepResult(observation=Observation(text=f"{action}: {result.observation.text}"))}
        lost = StepResult(observation=result.observation, terminated=True)
        return {seat: result, other: lost}


class LosesItsSeats(Race):
    """The episode stops without an end: nobody is to act."""

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        results = super().step_seats(actions)
        return {seat: result for seat, result in results.items() if result.terminated}


class SharesSeats(Race):
    """The secret lives in the class."""

    shared = 0

    def reset_seats(self, task: GuessTask, seed: int) -> Mapping[str, Observation]:
        type(self).shared = task.secret
        return {"first": Observation(text="Make a guess.")}

    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        self.secret = type(self).shared
        return super().step_seats(actions)


class PaysSeatsTwice(Race):
    def step_seats(self, actions: Mapping[str, str]) -> Mapping[str, StepResult]:
        results = super().step_seats(actions)
        return {
            seat: result.model_copy(update={"reward": 2 * result.reward}) for seat, result in results.items()
        }


class KeepsTheTask(Guess):
    """An agent is not told which number it is asked for."""

    def tasks(self, split: str, difficulty: str | None = None) -> list[GuessTask]:
        return [
            task.model_copy(update={"instruction": f"Find {task.id}."})
            for task in super().tasks(split, difficulty)
        ]


BROKEN: list[tuple[type[Guess], str, str]] = [
    (BadFacts, "facts", "max_turns is 0"),
    (SameIds, "tasks", "id 'guess-1' occurs twice"),
    (AcceptsAnySplit, "tasks", "an unknown split raises nothing, not TaskNotFound"),
    (SameContent, "splits", "'guess-3' of 'test' has the content of 'guess-5' of 'train'"),
    (SameEpisode, "splits", "'guess-3' of 'test' has the expert's episode of 'guess-5' of 'train'"),
    (KeepsTheTask, "instruction", "have different instructions, but the same first observation"),
    (Remembers, "determinism", "an instance that played before gives another episode"),
    (SharesState, "isolation", "stepping one in between changes the other"),
    (ClosesAll, "isolation", "stepping one in between changes the other"),
    (ConvertsBlindly, "hostile", "1 MB of a digit: raised ValueError"),
    (EchoesHalfCharacters, "hostile", "the result cannot be written as JSON"),
    (RewardsTwice, "returns", "return 2.0 outside (0.0, 1.0)"),
    (RewardsNothingAtAll, "returns", "the reward nan is not finite"),
    (ClosesOnce, "close", "the second close before any episode raised RuntimeError: closed already"),
    (SnapshotForgets, "fork", "restored in the same instance, equal actions go on differently"),
    (ExpertIsWrong, "expert", "the expert earns 0"),
    (ExpertIsSlow, "expert", "the expert needs 5 actions; max_turns is 4"),
    (PaysForSilence, "baselines", "idle earns 1.000 on average of 8 tasks; declared is 0.0 to 0.0"),
    (ForgetsWhileItWaits, "waits", "coroutines of another episode that run meanwhile change it"),
    (CannotBeCancelled, "waits", "a step that is cancelled goes on"),
    (LosesItsSeats, "seats", "seats [] are to act; there are ['first', 'second']"),
    (SharesSeats, "seats", "equal actions of the seats give other episodes"),
    (PaysSeatsTwice, "seats", "return 2.0 of seat"),
    (DeclaresTooMuch, "baselines", "spray earns 0.375 on average of 8 tasks; declared is 0.9 to 1.0"),
]


@pytest.mark.parametrize(
    ("environment", "check", "message"), BROKEN, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_broken_environment_is_caught(environment: type[Guess], check: str, message: str) -> None:
    found = violations(check_environment(environment), check)
    assert any(message in violation for violation in found), found


def test_every_check_has_an_environment_that_breaks_it() -> None:
    with_tests_below = {"tools", "assets"}
    assert {check for _, check, _ in BROKEN} | with_tests_below == set(CHECKS)


class Waits(Guess):
    """Waits for another party, as a world with a judge does."""

    async def reset(self, task: GuessTask, seed: int) -> Observation:  # type: ignore[override] - coroutines are allowed
        await asyncio.sleep(0)
        return Guess.reset(self, task, seed)

    async def step(self, action: str) -> StepResult:  # type: ignore[override] - coroutines are allowed
        await asyncio.sleep(0)
        return Guess.step(self, action)


def test_an_environment_of_coroutines_is_checked_as_well() -> None:
    report = check_environment(Waits)
    assert report.passed, report.lines()
    assert "ok    waits" in "\n".join(report.lines())


def test_an_environment_with_seats_is_checked_as_well() -> None:
    report = check_environment(Race)
    assert report.passed, report.lines()
    assert "ok    seats       8 checked" in report.lines()


def test_an_environment_that_cannot_be_made_is_a_finding() -> None:
    def broken() -> Any:
        raise OSError("no data")

    report = check_environment(broken)
    assert report.lines() == ["FAIL  draw        0 checked", "      - raised OSError: no data"]


def test_a_slow_answer_to_a_hostile_action_is_caught() -> None:
    report = check_environment(Guess, step_limit_s=0.0)  # nothing is that fast
    assert all("more than 0.0 s" in violation for violation in violations(report, "hostile"))
    assert violations(report, "hostile")


def test_the_mean_of_a_sample_may_differ_by_chance_but_that_of_all_tasks_may_not() -> None:
    few = check_environment(Guess, tasks_per_split=1)  # guess-1, guess-4, guess-3: spray finds two of three
    assert violations(few, "baselines") == ()
    assert violations(check_environment(lambda: _declaring(0.374)), "baselines") != ()


def _declaring(spray: float) -> Guess:
    class Declares(Guess):
        baselines = {"idle": (0.0, 0.0), "spray": (spray, spray)}  # noqa: RUF012 - a class fact

    return Declares()


def test_an_environment_whose_tools_change_is_checked_as_well() -> None:
    report = check_environment(Safe)
    assert report.passed, report.lines()
    # three tasks, each 7 offers where every tool is called in turn, 2 of the expert's, and a withdrawn call
    assert "ok    tools       30 checked" in report.lines()


class ObeysWithdrawnTools(Safe):
    def step(self, action: str) -> StepResult:
        if '"unlock"' in action and self._unlocked:
            self._unlocked = False
            return StepResult(observation=self._seen("Locked."), info={"invalid_action": True})
        return super().step(action)


class AcceptsWithdrawnTools(Safe):
    def step(self, action: str) -> StepResult:
        if '"unlock"' in action and self._unlocked:
            return StepResult(observation=self._seen("It is unlocked."))
        return super().step(action)


class ChangesUndeclared(Safe):
    changing_tools = False


class OffersUndeclared(Safe):
    changing_tools = False

    def _seen(self, text: str) -> Observation:
        return Observation(text=text, tools=({"type": "function", "function": {"name": "a"}},))


class OffersAnother(OffersUndeclared):
    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        return ({"type": "function", "function": {"name": "b"}},)


def _offering(**function: Any) -> type[Safe]:
    class Offers(Safe):
        def _seen(self, text: str) -> Observation:
            return Observation(text=text, tools=({"type": "function", "function": function},))

    return Offers


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (ObeysWithdrawnTools, "the call of 'unlock', which is no longer offered, changes the episode"),
        (
            AcceptsWithdrawnTools,
            "the call of 'unlock', which is no longer offered, is not answered as an inval",
        ),
        (ChangesUndeclared, "the tools change in turn 1, but changing_tools is False"),
        (OffersUndeclared, "the first observation offers tools, but `tools` of the environment is None"),
        (OffersAnother, "'a' is offered, but not among `tools` of the environment"),
        (_offering(name="a b"), "tool name 'a b' is not 1 to 64 letters, digits, - and _"),
        (_offering(name="a", description=5), "tool 'a': the description is not text"),
        (
            _offering(name="a", parameters={"type": "string"}),
            "the parameters are not a schema of type 'object'",
        ),
        (
            _offering(name="a", parameters={"type": "object", "properties": {"b": {"type": "text"}}}),
            "tool 'a': /b has the unknown type 'text'",
        ),
        (
            _offering(name="a", parameters={"type": "object", "required": ["b"]}),
            "tool 'a': / requires 'b', which is not among its properties",
        ),
    ],
)
def test_broken_tools_are_caught(environment: type[Safe], message: str) -> None:
    found = violations(check_environment(environment), "tools")
    assert any(message in violation for violation in found), found


def test_an_environment_with_assets_is_checked_as_well(tmp_path: Path) -> None:
    path = write_atlas(tmp_path / "atlas.bin", (8 << 20) // RECORD, every=100)
    report = check_environment(lambda: Atlas(path))
    assert report.passed, report.lines()
    assert "ok    assets      1 checked" in report.lines()


class Writes(Atlas):
    def opened(self, path: Path) -> memoryview | bytes:
        with path.open("ab") as file:
            file.write(b"!")
        return super().opened(path)


def test_broken_assets_are_caught(tmp_path: Path) -> None:
    path = write_atlas(tmp_path / "atlas.bin", (8 << 20) // RECORD, every=100)
    (copied,) = violations(check_environment(lambda: Greedy(path)), "assets")
    assert copied.endswith("the assets have 8 MiB: map, do not copy")
    assert violations(check_environment(lambda: Writes(path)), "assets") == ("an asset was written",)
    nowhere = tmp_path / "nowhere"
    missing = violations(check_environment(lambda: Atlas(nowhere)), "assets")
    assert missing == (f"the asset {nowhere} is not a file",)


def test_splits_that_are_variants_may_share_content_but_no_id() -> None:
    class Variants(SameEpisode):
        variant_splits = ("train", "valid", "test")

    assert violations(check_environment(Variants), "splits") == ()

    class Others(SameEpisode):
        variant_splits = ("valid", "test")

    assert violations(check_environment(Others), "splits") != ()

    class OneId(SameIds):
        variant_splits = ("train", "valid", "test")

    assert violations(check_environment(OneId), "tasks") != ()
