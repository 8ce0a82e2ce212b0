"""Recipes of starter policies that write in thinking modes (`--format modes`), by environment."""

from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe

MODE_RECIPES: dict[str, StarterRecipe] = {
    "social": StarterRecipe(
        environment="social",
        action_format="modes",
        demonstrations={"1": 3_000, "2": 3_000, "3": 3_000},
        care=0.8,
        learns_repeats=True,
        # sums of prices and points take most practice; in a fourth of the episodes the partner thinks, too,
        # as in self-play
        worlds=({}, {"families": "price,split"}, {}, {"partner": "thinker"}),
        renamed=0.7,
        renames_nouns=True,
        vocabulary_episodes=600,
        vocabulary_splits=("valid", "test"),
        tagged=True,
        first_task=20_000,  # runs draw from the whole split and meet few of these
        shape=Shape(
            hidden=128,
            layers=6,
            heads=4,
            intermediate=320,
            rotary_base=1e6,
            copies=True,
            twins=True,
        ),
        learn=LEARN.model_copy(update={"micro_batch_tokens": 8192, "dtype": "bf16"}),
    ),
}
