"""Manifest entries of arrays on disk."""

from pydantic import Field

from agentgym_envs.core import Record


class Flat(Record):
    """Manifest entry of one array."""

    dtype: str = Field(pattern=r"^(\|[iu]1|<[iu][248]|<f[48]|\|S[1-9][0-9]{0,2})$")
    """NumPy type string with byte order."""
    length: int = Field(ge=0)
    sha256: str

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.length * int(self.dtype[2:])
