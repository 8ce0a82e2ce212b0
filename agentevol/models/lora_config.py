"""Configuration of LoRA adapters."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class LoraConfig(BaseModel):
    """Low-rank adapters instead of full weights; the checkpoint has them merged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(default=16, ge=1)
    alpha: int = Field(default=32, gt=0)
    """The output of the adapters is scaled by alpha / rank."""
    targets: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    """Names of the modules to adapt; by default all linear ones except the output head."""
    keep: bool = False
    """Write the adapters beside the merged weights as well (`adapters.st`), and continue training those of
    the start, instead of fresh ones in every update.
    """
