"""`agentevol bench merge` as a script: selection over 50 iterations, beside deriving all rounds again."""

from agentevol.bench.experiments.merge import main

if __name__ == "__main__":
    main()
