"""`python -m agentevol`: the command `agentevol`."""

from agentevol.cli import main

main()
