"""Names in a demonstration are replaced wherever they occur, and nothing else is."""

import re
from random import Random

import pytest

from agentevol.models.rendering import ChatRenderer
from agentevol.models.word_tokenizer import word_tokenizer
from agentevol.runs.starter import demonstrations as module
from agentevol.runs.starter.demonstrations import Demonstration, demonstrations
from agentevol.runs.starter.recipe import StarterRecipe
from agentevol.runs.starter.renaming import Renamer, names_in, unread
from agentevol.runs.starter.sequences import Turn

EPISODE = [
    Turn("Write to Ada Loom and Ada Reed.", '{"query":"Ada Loom"}'),
    Turn('{"email":"ada.loom@mail.example"}', '{"to":"ada.loom@mail.example"}'),
]
NAMES = {"ada", "loom", "reed", "bo", "cy", "dee"}


def spelled(*names: str) -> set[str]:
    """All spellings of names as tokens."""
    return {space + word for name in names for word in (name, name.capitalize()) for space in ("", "Ġ")}


def test_names_are_the_capitalised_words_of_one_split_alone():
    train = ["Write to Ada Loom, a.loom@mail.example", "Cancel it later"]
    test = ["Write to Bo Reed soon", "Cancel the later one"]
    # "soon" has no capital, and both splits have "Cancel"
    assert names_in([train, test]) == {"ada", "loom", "bo", "reed"}
    assert names_in([train]) >= {"write", "cancel"}  # one split alone cannot tell


def test_nouns_are_names_too_where_a_recipe_says_so():
    train, test = ["Ada sells a kayak"], ["Bo sells a drone"]
    assert names_in([train, test], any_case=True) == {"ada", "kayak", "bo", "drone"}
    assert names_in([train, test]) == {"ada", "bo"}


def test_words_that_were_said_before_they_were_read_are_the_players_own():
    first = [Turn("Ada calls", "Let us ask"), Turn("let Bo in", "Let Bo in")]
    second = [Turn("ask Ada to let Bo in", "Ask Ada")]
    assert unread([first, second]) == {"let", "us", "ask"}  # "let" and "ask" were read elsewhere
    assert unread([second]) == set()


def test_a_name_is_the_same_other_one_throughout_an_episode():
    renamer = Renamer(NAMES, spelled(*NAMES))
    found = set[tuple[str, ...]]()
    for seed in range(50):
        heard, said = renamer(EPISODE, Random(seed))[0]
        first, last, again, other = re.fullmatch(r"Write to (\w+) (\w+) and (\w+) (\w+)\.", heard).groups()  # type: ignore[union-attr]
        assert said == f'{{"query":"{first} {last}"}}'
        address = f"{first.lower()}.{last.lower()}@mail.example"
        assert renamer(EPISODE, Random(seed))[1] == Turn(f'{{"email":"{address}"}}', f'{{"to":"{address}"}}')
        assert again == first
        assert len({first, last, other}) == 3
        found.add((first, last, other))
    assert len(found) > 30  # of 120 possible ones


def test_a_name_is_replaced_by_those_that_are_tokens_in_its_spellings():
    vocabulary = {*spelled("ada", "bo"), "ĠCy", "ĠDee"}
    renamer = Renamer({"ada", "bo", "cy", "dee", "eve"}, vocabulary)
    said = {renamer([Turn("Ask Ada", "Ask Dee")], Random(seed))[0] for seed in range(60)}
    assert {turn.heard for turn in said} == {"Ask Ada", "Ask Bo"}  # as "ada" in an address, which "cy" is not
    assert {turn.said for turn in said} == {"Ask Ada", "Ask Bo", "Ask Cy", "Ask Dee"}
    assert renamer([Turn("Ask Eve", "eve")], Random(0)) == [Turn("Ask Eve", "eve")]  # spelled in bytes anyway


def test_names_in_every_spelling_are_tokens_of_the_renamer():
    vocabulary = {"ada": 0, "ĠAda": 1, "Bo": 2, "Ġboat": 3, "Eve": 4}
    renamer = Renamer({"ada", "bo", "cy"}, vocabulary)
    assert renamer.tokens(vocabulary) == {0, 1, 2}


@pytest.mark.parametrize(("share", "fewest", "most"), [(0.0, 0, 0), (0.5, 60, 140), (1.0, 170, 200)])
def test_the_recipes_share_of_the_demonstrations_is_renamed(
    monkeypatch: pytest.MonkeyPatch, share: float, fewest: int, most: int
):
    shown = [Demonstration(str(number), [Turn("Ask Ada", "Ada")], "", True) for number in range(200)]
    monkeypatch.setattr(module, "_shown", lambda _play, counts, *_: shown if counts else [])
    others = [f"x{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    renderer = ChatRenderer(word_tokenizer(["Ask Ada"], always=[name.capitalize() for name in others]))
    renamer = Renamer({"ada", *others}, spelled("ada", *others))
    recipe = StarterRecipe("guess", {"": 200}, care=1.0, renamed=share)

    class Play:
        instruction = None

    texts = [
        renderer.tokenizer.decode(list(sequence.token_ids))
        for sequence in demonstrations(Play(), recipe, renderer, renamer)  # type: ignore[arg-type]
    ]
    assert fewest <= sum("Ada" not in text for text in texts) <= most


@pytest.mark.parametrize(
    ("digits", "tokens"),
    [
        (4, ["pay", "Ġ72", ".", "5", "0", "Ġof", "Ġ7"]),
        (1, ["pay", "Ġ", "7", "2", ".", "5", "0", "Ġof", "Ġ7"]),
    ],
)
def test_numbers_of_more_digits_than_a_recipe_allows_are_spelled(digits: int, tokens: list[str]):
    tokenizer = word_tokenizer(["pay 72 of 7"], digits=digits)
    assert tokenizer.tokenize("pay 72.50 of 7") == tokens
    assert tokenizer.decode(tokenizer.encode("pay 72.50 of 7")) == "pay 72.50 of 7"


def test_the_rarest_words_are_spelled_in_bytes_unless_they_are_said_to_be_words():
    texts = ["see Moden", "see Moden", "see Alris"]
    tokenizer = word_tokenizer(texts, most=2, always=[" unused"])
    assert tokenizer.tokenize("see Moden") == ["see", "ĠModen"]
    assert tokenizer.tokenize("see Alris") == ["see", "Ġ", *"Alris"]
    assert tokenizer.tokenize(" unused") == ["Ġunused"]
    assert tokenizer.decode(tokenizer.encode("see Alris")) == "see Alris"
    assert word_tokenizer(texts).tokenize("see Alris") == ["see", "ĠAlris"]
