"""Model card of a starter policy: its README.md on the Hugging Face hub's pattern."""

from pathlib import Path

from agentevol.core.protocols import LearnReport
from agentevol.runs.starter.recipe import StarterRecipe
from agentgym_envs.core import Environment
from agentgym_envs.registry import environment_class


def write_card(folder: Path, recipe: StarterRecipe, report: LearnReport, data_version: str) -> None:
    """Write the card of the starter in `folder`."""
    (folder / "README.md").write_text(card(recipe, report, data_version), encoding="utf-8")


def evaluation_command(recipe: StarterRecipe, model: str) -> str:
    """Command that plays the environment with the policy `model` as its demonstrations are: in the recipe's
    action format, and as one agent.
    """
    form = "" if recipe.action_format == "plain" else f" --format {recipe.action_format}"
    beside = " --partner environment" if environment_class(recipe.environment).seats else ""
    return f"agentevol eval --env {recipe.environment} --model {model}{form}{beside}"


def card(recipe: StarterRecipe, report: LearnReport, data_version: str) -> str:
    """Text of the card: purpose, training data and evaluation of the model."""
    kind, figures, shape = environment_class(recipe.environment), report.metrics, recipe.shape
    has_player = kind.demonstrate is not Environment.demonstrate
    player = f"demonstrating player, care {recipe.care:g}" if has_player else "expert"
    levels = ", ".join(_counted(*level) for level in recipe.demonstrations.items())
    held_out = (
        f" without {', '.join(recipe.held_out)} ({recipe.held_out_share:.0%} each)" if recipe.held_out else ""
    )
    renamed = f", with other names in {recipe.renamed:.0%} of them" if recipe.renamed else ""
    words = "each word" if recipe.vocabulary_most is None else f"each of {recipe.vocabulary_most:,} words"
    learnt = f"the player's messages {'and on repeated names' if recipe.learns_repeats else 'alone'}"
    form = "" if recipe.action_format == "plain" else f" --format {recipe.action_format}"
    rows = {
        "environment": f"{recipe.environment} {kind.version}, data {data_version}",
        "architecture": f"Llama, hidden {shape.hidden}, {shape.layers} layers, {shape.heads} heads,"
        f" intermediate {shape.intermediate}, context {shape.context:,}, untied embeddings",
        "tokenizer": f"{words} of the demonstrations is a token, anything else falls apart into bytes",
        "data": f"{figures['sequences']:,.0f} sequences, {figures['tokens_read']:,.0f} tokens, loss on"
        f" {learnt}: {levels} episodes of the {player}, in split {recipe.split!r}{held_out}{renamed}",
        "training": f"{figures['steps']:,.0f} steps of at most {recipe.learn.batch_tokens:,} tokens,"
        f" {recipe.learn.optimiser}, peak learning rate {recipe.learn.learning_rate:g};"
        f" {figures['seconds']:.0f} s; final loss {figures['loss_last']:.3f}",
        "recipe": "`recipe.json` beside this file; lineage in `agentevol.json`",
    }
    lines = [
        f"# A starter policy for {recipe.environment}",
        "",
        "A small causal language model, made from nothing by"
        f" `agentevol starter build --env {recipe.environment}{form}`. It knows nothing but the words of this"
        " environment, and it acts as its demonstrations do: a run finds out what pays.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {text} |" for name, text in rows.items()),
        "",
        f"Measure it with `{evaluation_command(recipe, 'FOLDER')}`.",
        "",
    ]
    return "\n".join(lines)


def _counted(level: str, count: int) -> str:
    """A number of episodes with their difficulty, which is a name, a number or nothing."""
    return f"{count:,} level-{level}" if level.isdigit() else f"{count:,} {level}".rstrip()
