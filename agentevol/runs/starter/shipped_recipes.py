"""Recipes of the starter policies in the package, by environment."""

from agentevol.config.sections.learner import LearnConfig
from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe

_ALFWORLD_WORDS = (
    " floorlamp teddybear papertowelroll scrubbrush towel safe cart ottoman laundryhamper dresser",
    "Nothing happens. You are not carrying anything. You are carrying: a x. Next to it, you see nothing.",
    "This is a normal cold hot clean sliced x. There's nothing special about x. You are facing the x.",
    "look inventory help examine x close x slice x with x use x. You turn on the x. You close the x.",
    "You sliced the x with the x.",
    *(f" {number}" for number in range(1, 61)),
)
_SHOP_WORDS = (
    " my sister asked today do you sell love choose shared drivers tuned state clasp app mm",
    "WebShop [SEP] Total Thank Paste Min",
)
"""Words of sentences that only the test split has, and of pages that few demonstrations contain."""
_NUMBERS = tuple(f"{number:0{digits}}" for digits in (2, 3) for number in range(10**digits))
"""Digits that ids of products and prices consist of."""

RECIPES: dict[str, StarterRecipe] = {
    "alfworld": StarterRecipe(
        environment="alfworld",
        demonstrations={"small": 6_000, "medium": 4_000, "large": 2_500},
        care=0.25,
        finds={"small": 2_500, "medium": 2_500, "large": 1_000},
        first_task=100_000,  # runs draw from the whole split and meet few of these
        vocabulary_texts=_ALFWORLD_WORDS,
        shape=Shape(rotary_base=1e6, copies=True),
    ),
    "assistant": StarterRecipe(
        environment="assistant",
        demonstrations={
            "single": 3_500,
            "chained": 5_500,
            "conditional": 4_500,
            "refusal": 3_500,
            "multi": 5_000,
        },
        care=0.35,
        worlds=({"tools_in": "text"},),
        renamed=0.8,
        vocabulary_episodes=600,
        vocabulary_splits=("valid", "test"),
        vocabulary_most=2_620,
        vocabulary_texts=('"expression":"(1 + 2 - 3) / 4" "(-1', *map(str, range(400))),
        shape=Shape(intermediate=528, rotary_base=1e6, copies=True, twins=True),  # 6 MB with its words
        learn=LEARN.model_copy(update={"batch_tokens": 4096, "micro_batch_tokens": 8192}),
    ),
    "deliberate": StarterRecipe(
        environment="deliberate",
        demonstrations={"shallow": 6000, "medium": 6000, "deep": 6000, "deepest": 6000},
        care=0.9,
        first_task=100_000,
        vocabulary_episodes=200,
        shape=Shape(hidden=64, layers=3, heads=4, intermediate=192, context=128),
        learn=LearnConfig(
            optimiser="muon",
            learning_rate=5e-3,
            betas=(0.9, 0.95),
            batch_tokens=1280,
            micro_batch_tokens=8192,
            threads=2,
        ),
    ),
    "guess": StarterRecipe(
        environment="guess",
        demonstrations={"": 4_000},
        care=0.5,
        vocabulary_episodes=200,
        vocabulary_texts=(*"0123456789", " 0 1 2 3 4 5 6 7 8 9"),
        shape=Shape(hidden=64, layers=2, heads=2, intermediate=128, context=256),
        learn=LEARN.model_copy(update={"batch_tokens": 256}),
    ),
    "social": StarterRecipe(
        environment="social",
        demonstrations={"1": 6_000, "2": 6_000, "3": 6_000},
        care=0.5,
        learns_repeats=True,
        renamed=0.7,
        renames_nouns=True,
        vocabulary_episodes=1_000,
        vocabulary_splits=("valid", "test"),
        digits=2,
        shape=Shape(
            hidden=128,
            layers=6,
            heads=4,
            intermediate=352,
            rotary_base=1e6,
            copies=True,
            twins=True,
        ),
        learn=LEARN.model_copy(update={"micro_batch_tokens": 8192, "dtype": "bf16"}),
    ),
    "webshop": StarterRecipe(
        environment="webshop",
        demonstrations={"small": 4_300, "medium": 200, "large": 100},
        care=0.1,
        careful=0.35,
        studies={"small": 3_600},
        excerpts={"small": 5_000},
        drills={"small": 12_000},
        worlds=tuple({"shop": number} for number in range(1, 17)),  # none of which a run plays
        by_task=True,
        max_turns=20,
        vocabulary_texts=(*_SHOP_WORDS, *_NUMBERS),
        folded=True,
        shape=Shape(intermediate=496, rotary_base=1e6, copies=True),  # with its words, 6 MB in the wheel
        learn=LEARN.model_copy(update={"batch_tokens": 4096, "micro_batch_tokens": 8192, "dtype": "bf16"}),
    ),
}
