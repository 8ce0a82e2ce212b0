"""Recipes of starter policies that users build: no weights of them are in the package."""

from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe

_WORDLE_TEXTS = (
    "Let's start Wordle! You solved it in 1 tries. You have used all your tries. The word was",
    " b g y b g y",
)

BUILT_RECIPES: dict[str, StarterRecipe] = {
    "questions": StarterRecipe(
        environment="questions",
        demonstrations={"1": 10_000, "2": 10_000, "3": 10_000, "4": 10_000},
        split="sft",
        care=0.97,
        vocabulary_episodes=1_000,
        tagged=True,  # splits numbers into digits, so that every sum is calculated digit by digit
        shape=Shape(hidden=128, layers=5, heads=4, intermediate=352, context=512, copies=True),
        learn=LEARN.model_copy(update={"micro_batch_tokens": 8192}),
    ),
    "searchqa": StarterRecipe(
        environment="searchqa",
        demonstrations={"1": 1_000, "2": 700, "3": 400, "4": 300},
        care=0.5,
        vocabulary_episodes=400,
        vocabulary_most=400,  # words of sentences; invented names are spelled
        spelled=True,
        shape=Shape(rotary_base=1e6, copies=True),
        learn=LEARN.model_copy(update={"micro_batch_tokens": 8192}),
    ),
    "textcraft": StarterRecipe(
        environment="textcraft",
        demonstrations={"1": 1_400, "2": 800, "3": 400, "4": 200, "5": 200, "6": 200},
        care=0.5,
        vocabulary_episodes=200,
        vocabulary_splits=("valid", "test"),
        vocabulary_texts=tuple(f"{space}{number}" for space in ("", " ") for number in range(100)),
        shape=Shape(rotary_base=1e6, copies=True),
        learn=LEARN.model_copy(update={"micro_batch_tokens": 8192}),
    ),
    "wordle": StarterRecipe(
        environment="wordle",
        demonstrations={"": 100_000},
        care=0.5,
        vocabulary_most=0,  # no guess is a token: guesses are spelled, and their letters compared
        spelled=True,
        vocabulary_episodes=100,
        vocabulary_texts=_WORDLE_TEXTS,
        shape=Shape(hidden=128, layers=5, heads=4, intermediate=352, context=256, copies=True),
        learn=LEARN.model_copy(update={"micro_batch_tokens": 8192}),
    ),
}
