"""The suite beside an installed distribution that registers environments."""

import os
import subprocess
import sys
from pathlib import Path

from support.distributions import install

from agentgym_envs import registry

ROOT = Path(__file__).parents[3]


def test_tests_do_not_depend_on_other_distributions_that_are_installed(tmp_path: Path) -> None:
    code = "from agentgym_envs.guess import Guess\nclass Chess(Guess):\n    name = 'chess'\n"
    install(tmp_path, "draughts", code, {registry.ENTRY_POINT_GROUP: {"draughts": "Chess", "guess": "Chess"}})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    without = ("-p", "no:cacheprovider", "-p", "no:schemathesis")
    names = "names_are_those or an_entry_point_adds or who_names_no"
    tests = ROOT / "tests" / "unit" / "envs" / "test_registry.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *without, str(tests), "-k", names],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout
