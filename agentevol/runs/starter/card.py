"""Model card of a starter policy: its README.md on the Hugging Face hub's pattern."""

from collections.abc import Sequence
from pathlib import Path

from agentevol.core.protocols import LearnReport
from agentevol.runs.starter.demonstrations import CAREFUL
from agentevol.runs.starter.recipe import StarterRecipe
from agentgym_envs.core import Environment
from agentgym_envs.registry import environment_class


def write_card(
    folder: Path, recipe: StarterRecipe, report: LearnReport, data_versions: Sequence[str]
) -> None:
    """Write the card of the starter in `folder`; `data_versions` are those of its environments."""
    (folder / "README.md").write_text(card(recipe, report, data_versions), encoding="utf-8")


def evaluation_command(recipe: StarterRecipe, model: str) -> str:
    """Command that plays an environment with the policy `model` as its demonstrations are: in the recipe's
    action format, and as one agent.
    """
    beside = " --partner environment" if environment_class(recipe.environment).seats else ""
    return f"agentevol eval --env {recipe.environment} --model {model}{_form(recipe)}{beside}"


def card(recipe: StarterRecipe, report: LearnReport, data_versions: Sequence[str]) -> str:
    """Text of the card: purpose, training data and evaluation of the model."""
    figures, shape, parts = report.metrics, recipe.shape, recipe.by_environment
    most = sum(part.vocabulary_most or 0 for part in parts)
    is_bounded = all(part.vocabulary_most is not None for part in parts)
    words = f"each of {most:,} words" if is_bounded else "each word"
    environments = [
        f"{part.environment} {environment_class(part.environment).version}, data {version}"
        for part, version in zip(parts, data_versions, strict=True)
    ]
    rows = {
        "environments" if recipe.parts else "environment": "; ".join(environments),
        "architecture": f"Llama, hidden {shape.hidden}, {shape.layers} layers, {shape.heads} heads,"
        f" intermediate {shape.intermediate}, context {shape.context:,}, untied embeddings",
        "tokenizer": f"{words} of the demonstrations is a token, other text is in bytes",
        "data": f"{figures['sequences']:,.0f} sequences, {figures['tokens_read']:,.0f} tokens, loss on"
        f" {'; '.join(map(_demonstrated, parts))}",
        "training": f"{figures['steps']:,.0f} steps of at most {recipe.learn.batch_tokens:,} tokens,"
        f" {recipe.learn.optimiser}, peak learning rate {recipe.learn.learning_rate:g};"
        f" {figures['seconds']:.0f} s; final loss {figures['loss_last']:.3f}",
        "recipe": "`recipe.json` beside this file; lineage in `agentevol.json`",
    }
    these = "these environments" if recipe.parts else "this environment"
    measured = " and ".join(f"`{evaluation_command(part, 'FOLDER')}`" for part in parts)
    lines = [
        f"# A starter policy for {', '.join(part.environment for part in parts)}",
        "",
        "A small causal language model, made from nothing by"
        f" `agentevol starter build --env {recipe.environment}{_form(recipe)}`. It knows nothing but the"
        f" words of {these}, and it acts as its demonstrations do: a run finds out what pays.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {text} |" for name, text in rows.items()),
        "",
        f"Measure it with {measured}.",
        "",
    ]
    return "\n".join(lines)


def _form(recipe: StarterRecipe) -> str:
    return "" if recipe.action_format == "plain" else f" --format {recipe.action_format}"


def _demonstrated(recipe: StarterRecipe) -> str:
    """Demonstrations of one environment."""
    has_player = environment_class(recipe.environment).demonstrate is not Environment.demonstrate
    careful = f" ({CAREFUL:g} in {recipe.careful:.0%} of them)" if recipe.careful else ""
    player = f"demonstrating player, care {recipe.care:g}{careful}" if has_player else "expert"
    levels = ", ".join(_counted(*level) for level in recipe.demonstrations.items())
    held_out = (
        f" without {', '.join(recipe.held_out)} ({recipe.held_out_share:.0%} each)" if recipe.held_out else ""
    )
    renamed = f", with other names in {recipe.renamed:.0%} of them" if recipe.renamed else ""
    learnt = f"the player's messages {'and on repeated names' if recipe.learns_repeats else 'alone'}"
    return f"{learnt}: {levels} episodes of the {player}, in split {recipe.split!r}{held_out}{renamed}"


def _counted(level: str, count: int) -> str:
    """A number of episodes with their difficulty, which is a name, a number or nothing."""
    return f"{count:,} level-{level}" if level.isdigit() else f"{count:,} {level}".rstrip()
