"""Cohen's kappa against textbook examples."""

import pytest

from agentevol.data.judgements.kappa import Kappa, cohens_kappa


def test_kappa_of_a_table_of_two() -> None:
    # agreed 35 of 50; by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    found = cohens_kappa([[20, 5], [10, 15]])
    assert (found.n, found.agreed) == (50, pytest.approx(0.7))
    assert found.kappa == pytest.approx(0.4)


def test_kappa_and_its_error_of_three_diagnoses() -> None:
    # Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, table 18.1
    found = cohens_kappa([[75, 1, 4], [5, 4, 1], [0, 0, 10]])
    assert found.kappa == pytest.approx(0.676, abs=5e-4)
    assert found.low is not None
    assert found.high is not None
    assert (found.high - found.low) / 2 / 1.959964 == pytest.approx(0.088, abs=1e-3)
    turned = cohens_kappa([[75, 5, 0], [1, 4, 0], [4, 1, 10]])
    assert (turned.kappa, turned.low) == (pytest.approx(found.kappa), pytest.approx(found.low))


def test_agreement_by_chance_and_less_is_no_agreement() -> None:
    assert cohens_kappa([[25, 25], [25, 25]]).kappa == pytest.approx(0.0)
    assert cohens_kappa([[0, 10], [10, 0]]).kappa == pytest.approx(-1.0)


def test_full_agreement_has_no_interval() -> None:
    assert cohens_kappa([[3, 0], [0, 5]]) == Kappa(n=8, agreed=1.0, kappa=1.0)


def test_one_category_alone_has_no_kappa() -> None:
    assert cohens_kappa([[7, 0], [0, 0]]) == Kappa(n=7, agreed=1.0, kappa=None)
    assert cohens_kappa([[0, 0], [0, 0]]) == Kappa(n=0, agreed=None, kappa=None)
