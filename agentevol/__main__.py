"""`python -m agentevol` is the command `agentevol`."""

from agentevol.cli import main

main()
