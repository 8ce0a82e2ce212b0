"""`agentevol envs check` with several environments at a time."""

from typer.testing import CliRunner

from agentevol.cli import app


def test_environments_checked_at_a_time_are_reported_in_order_and_as_one_after_the_other():
    command = ["envs", "check", "weather", "guess", "--tasks", "1", "--rows", "4"]
    one, two = (CliRunner().invoke(app, [*command, "--jobs", jobs]) for jobs in "12")
    assert one.exit_code == two.exit_code == 0
    assert one.stdout == two.stdout
    assert [line for line in two.stdout.splitlines() if not line.startswith(" ")] == [
        "weather: keeps the contract",
        "guess: keeps the contract",
    ]
