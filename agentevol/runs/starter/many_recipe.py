"""Recipe of the starter for several environments, `starter:many`: one policy cloned on five of them, as the
base agent of AgentEvol is on those of AgentGym (arXiv:2406.04151, section 4.2).
"""

from dataclasses import replace

from agentevol.runs.starter.built_recipes import BUILT_RECIPES
from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe
from agentevol.runs.starter.shipped_recipes import RECIPES

_PARTS = (
    replace(
        RECIPES["alfworld"],
        demonstrations={"small": 2_500, "medium": 3_500},
        care=0.5,
        finds={"small": 1_200, "medium": 1_500},
    ),
    replace(
        RECIPES["webshop"],
        demonstrations={"small": 1_800},
        careful=0.5,
        studies={"small": 1_000},
        excerpts={"small": 2_000},
        drills={"small": 6_000},
        worlds=tuple({"shop": number} for number in range(1, 5)),  # none of which a run plays
        vocabulary_episodes=800,
        vocabulary_most=2_200,
    ),
    replace(
        BUILT_RECIPES["textcraft"],
        demonstrations={"1": 2_200, "2": 1_200, "3": 600, "4": 300, "5": 300, "6": 300},
    ),
    replace(BUILT_RECIPES["wordle"], demonstrations={"": 50_000}),
    replace(
        BUILT_RECIPES["searchqa"],
        demonstrations={"1": 1_600, "2": 1_200, "3": 700, "4": 500},
        care=0.8,
    ),
)

MANY_RECIPE = StarterRecipe(
    environment="many",
    demonstrations={},
    care=0.0,
    folded=True,
    shape=Shape(intermediate=448, rotary_base=1e6, copies=True),  # with its words, below 6 MB
    learn=LEARN.model_copy(update={"batch_tokens": 4096, "micro_batch_tokens": 8192, "dtype": "bf16"}),
    parts=_PARTS,
)
