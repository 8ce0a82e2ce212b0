"""`agentevol bench learn` as a script: the learner against a padded loop and TRL; see --help."""

from agentevol.bench.learn import script

if __name__ == "__main__":
    script()
