"""Recipes of starter policies that users build: no weights of them are in the package."""

from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe

BUILT_RECIPES: dict[str, StarterRecipe] = {
    "questions": StarterRecipe(
        environment="questions",
        demonstrations={"1": 10_000, "2": 10_000, "3": 10_000, "4": 10_000},
        care=0.97,
        vocabulary_episodes=1_000,
        tagged=True,  # splits numbers into digits, so that every sum is calculated digit by digit
        shape=Shape(hidden=128, layers=5, heads=4, intermediate=352, context=512, copies=True),
        learn=LEARN.model_copy(update={"micro_batch_tokens": 8192}),
    ),
}
