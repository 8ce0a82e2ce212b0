"""`agentevol bench env` as a script: native ALFWorld against the TextWorld engine."""

from agentevol.bench.env import main

if __name__ == "__main__":
    main()
