"""`python -m agentevol.cli.benchmarks.learn`."""

from agentevol.cli.benchmarks.learn.main import script

if __name__ == "__main__":
    script()
