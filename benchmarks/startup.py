"""`agentevol bench startup` as a script: import and help times beside an empty Python."""

from agentevol.bench.startup import main

if __name__ == "__main__":
    main()
