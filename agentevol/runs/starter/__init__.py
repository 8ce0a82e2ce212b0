"""Starter policies: small language models of our own, and the recipes that build them.

Names for other packages: `build.build`, `build.sequences`, `built_recipes.BUILT_RECIPES`,
`card.evaluation_command`, `general_recipe.recipe_for`, `many_recipe.MANY_RECIPE`, `recipe.scaled`,
`recipe.StarterRecipe`.
"""
