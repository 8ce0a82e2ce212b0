"""Starter policies: small language models of our own, and the recipes that build them.

Names for other packages: `build.build`, `general_recipe.recipe_for`, `recipe.StarterRecipe`.
"""
