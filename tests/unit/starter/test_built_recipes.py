"""Recipes of starters that users build."""

from agentevol.models.tokenizer_checks import unknown_share
from agentevol.models.word_tokenizer import word_tokenizer
from agentevol.runs.starter.built_recipes import BUILT_RECIPES
from agentevol.runs.starter.demonstrations import Demonstrator
from agentevol.runs.starter.general_recipe import recipe_for
from agentevol.runs.starter.shipped_recipes import RECIPES


def test_a_recipe_of_the_package_without_weights_is_found_by_its_environment():
    assert recipe_for("questions") is BUILT_RECIPES["questions"]
    assert not BUILT_RECIPES.keys() & RECIPES.keys()  # the package has weights for each of those


def test_the_questions_starter_reads_numbers_digit_by_digit():
    play = Demonstrator(BUILT_RECIPES["questions"])
    shown = play("2", 3)
    play.close()
    texts = [turn.said for turn in shown.turns]
    tokenizer = word_tokenizer(texts, tagged=BUILT_RECIPES["questions"].tagged)
    numbers = [token.strip("Ġ") for text in texts for token in tokenizer.tokenize(text)]
    assert {len(number) for number in numbers if number.isdigit()} == {1}
    assert unknown_share(tokenizer, texts) == 0.0  # a base that runs accept
    whole = word_tokenizer(texts, digits=1)
    assert unknown_share(whole, texts) > 0.1
