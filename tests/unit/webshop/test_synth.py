"""Where the generated catalogue is kept, and that it is made once."""

import tempfile
from pathlib import Path

import pytest

from agentgym_envs.webshop import nouns, synth
from agentgym_envs.webshop.catalogues.stored import About, StoredCatalogue, write
from agentgym_envs.webshop.generator import VERSION
from agentgym_envs.webshop.products import product

ROW = {"asin": "B000000001", "name": "Lamp", "full_description": "", "small_description": [], "pricing": "$5"}
ROW |= {"query": "lamps", "category": "garden", "product_category": "Home", "customization_options": ""}


Made = list[tuple[Path, int]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Folder and seed of each that was made; it is a small one."""
    made: Made = []

    def make(folder: Path, seed: int = 0) -> StoredCatalogue:
        made.append((folder, seed))
        about = About(name="synth", nouns=nouns.NAME, settings={})
        return write(folder, about, [product(ROW)], lambda one: one.prices[0], {})

    monkeypatch.setattr(synth, "make", make)
    return made


def test_it_is_made_once_and_again_where_it_is_damaged(made: Made, tmp_path: Path):
    first = synth.catalogue(tmp_path)
    assert synth.catalogue(tmp_path).digest == first.digest
    assert made == [(tmp_path / "webshop" / VERSION, 0)]
    (made[0][0] / "manifest.json").unlink()
    synth.catalogue(tmp_path)
    assert len(made) == 2


def test_each_seed_has_a_shop_of_its_own_beside_the_others(made: Made, tmp_path: Path):
    for seed in (3, 0, 3, 4):
        synth.catalogue(tmp_path, seed)
    names = {f"{VERSION}-3": 3, VERSION: 0, f"{VERSION}-4": 4}
    assert made == [(tmp_path / "webshop" / name, seed) for name, seed in names.items()]


def test_where_the_home_cannot_be_written_it_is_kept_among_temporary_files(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    home = tmp_path / "file"
    home.write_text("no folder")
    for _ in range(2):
        assert list(synth.catalogue(home).products) == ["B000000001"]
    assert len(made) == 1
    assert made[0][0].parent.parent == tmp_path
