"""`python -m benchmarks NAME [OPTIONS]`; `--help` after a name shows its options."""

import argparse
from collections.abc import Sequence
from importlib import import_module

EXPERIMENTS = {
    "baselines": "scores of WebShop's baselines",
    "credit": "GiGPO beside GRPO in ALFWorld, three seeds: about half an hour on two idle cores",
    "goals": "Sotopia's recorded judgements beside rules, where a program can check the goals",
    "judging": "judgements a second beside an endpoint that answers at once, about half a minute",
    "learning": "success before and after, for every algorithm, three seeds: about three quarters of an hour",
    "merge": "selection over 50 iterations beside deriving all rounds again",
    "modes": "AMPO beside GRPO: success, tokens and modes of thinking, about a quarter of an hour",
    "recipes": "lengths of episodes and GPU-hours of docs/recipes.md",
    "scale": "simulation of up to 64 replicas from costs measured here, about a minute and a half",
    "shortcuts": "what taking the first hit earns in the assistant, by template",
    "sotopia": "steps a second of the package sotopia beside our protocol, about ten seconds",
    "social": "scores of scripted policies in the social worlds, with intervals, and speed: a minute",
    "tau": "scores of policies without a model in the tau domains, and times",
    "taggers": "agreement of taggers on the types of purchases in WebShop",
}
"""Modules or packages of this folder with a function `main(arguments)`."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the named experiment."""
    names = "\n".join(f"  {name:11}{what}" for name, what in EXPERIMENTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        usage="%(prog)s NAME [OPTIONS]",
        description=f"Compare methods and sizes.\n\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=list(EXPERIMENTS), metavar="NAME", help="experiment")
    parser.add_argument("options", nargs=argparse.REMAINDER, metavar="OPTIONS", help="options of its own")
    given = parser.parse_args(arguments)
    import_module(f"benchmarks.{given.name}").main(given.options)


if __name__ == "__main__":
    main()
