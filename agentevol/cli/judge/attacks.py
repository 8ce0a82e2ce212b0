"""`agentevol judge FILE --attack-set`: how far attacks in transcripts move the scores of judges."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from agentevol.cli.console.output import print_json, print_table
from agentevol.cli.judge.batch import counting, usage_text
from agentevol.cli.judge.setup import Setup

if TYPE_CHECKING:
    from agentevol.data.judgements.attacks.measurement import Movement
    from agentevol.data.judgements.outcomes import Usage


def attack_file(file: str, setup: Setup, *, json: bool) -> int:
    """Judge the transcripts of a file with and without each attack; exit code 1 if a judgement failed."""
    from agentevol.data.judgements.attacks.measurement import measured
    from agentevol.data.judgements.attacks.texts import ATTACKS
    from agentevol.data.judgements.feedback.models import model_judge
    from agentevol.data.judgements.files import read_entries

    panel, asked = setup.panel(), setup.asked()
    names = [model_judge(one, "transcripts with attacks").name for one in panel.judges]
    items = [one.item for one in read_entries(file)]
    told: list[dict[str, Any]] = []
    for name in names:
        with counting(len(items) * (len(ATTACKS) + 1)) as tell:
            found, usage = measured(items, panel.of([name]), asked, concurrency=setup.concurrency, tell=tell)
        told.append(_told(name, found, usage))
        if not json:
            _show(told[-1], len(items), usage)
    if json:
        print_json({"file": file, "items": len(items), "judges": told})
    return 1 if any(one["failed"] for judge in told for one in judge["attacks"]) else 0


def _told(name: str, movements: "Sequence[Movement]", usage: "Usage") -> dict[str, Any]:
    attacks = [
        {
            "attack": one.attack.name,
            "place": one.attack.place,
            "n": len(one.differences),
            "failed": one.failed,
            "moved": fmean(one.differences) if one.differences else None,
            "interval": _interval(one.differences),
            "upwards": one.upwards,
        }
        for one in movements
    ]
    return {"judge": name, "attacks": attacks, "usage": usage.model_dump()}


def _interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """Interval of the mean at 95 %; None for fewer than two transcripts."""
    from agentevol.loop.report.intervals import mean_interval

    if len(differences) < 2:
        return None
    if max(differences) == min(differences):
        return (differences[0], differences[0])
    return mean_interval(differences)


def _show(told: dict[str, Any], items: int, usage: "Usage") -> None:
    """Print movements as shares of the dimensions' ranges."""
    header = ("attack", "place", "n", "failed", "moved", "95 % interval", "upwards")
    rows = [
        (
            one["attack"],
            one["place"],
            one["n"],
            one["failed"],
            _signed(one["moved"]),
            "-" if one["interval"] is None else " to ".join(map(_signed, one["interval"])),
            "-" if one["upwards"] is None else f"{one['upwards']:.0%}",
        )
        for one in told["attacks"]
    ]
    print_table(
        header, rows, title=f"{told['judge']}: {items:,} transcripts, scores as shares of their ranges"
    )
    print(usage_text(usage))


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"
