"""Pairs of answers that are equal, and pairs that are not."""

import pytest

from agentgym_envs.questions.mathematics import Unreadable, read, same

EQUAL = [
    # whole numbers, decimals, separators
    ("7", "7"),
    ("007", "7"),
    ("-3", "− 3"),
    ("5.0", "5"),
    ("5.", "5"),
    (".5", "0.50"),
    ("1,234", "1234"),
    ("1{,}234", "1234"),
    (r"1\,234", "1234"),
    ("12 500", "12500"),
    ("1,234,567.5", "1234567.5"),
    ("1e3", "1000"),
    (r"1.5 \times 10^3", "1500"),
    # fractions and mixed numbers
    ("1/2", "0.5"),
    (r"\frac{1}{2}", r"\dfrac12"),
    (r"\frac12", "2/4"),
    (r"\frac{-1}{2}", r"-\frac{1}{2}"),
    (r"\tfrac1{2}", "½"),
    (r"3\frac12", "7/2"),
    (r"3\frac{1}{2}", "3 1/2"),
    (r"-3\frac{1}{2}", "-3.5"),
    (r"0.\overline{3}", "1/3"),
    (r"0.1\overline{6}", r"\frac{1}{6}"),
    (r"\frac{\frac{1}{2}}{3}", "1/6"),
    # percentages, degrees, units, currencies
    ("50%", "1/2"),
    (r"50\%", "50"),
    ("50", "50%"),
    ("12.5 percent", "1/8"),
    (r"90^\circ", "90"),
    (r"90^{\circ}", "90°"),
    ("90 degrees", "90"),
    (r"5\text{ cm}", "5"),
    ("5 cm", "5"),
    ("5 cm", r"5\,\mathrm{cm}"),
    (r"5\text{ cm}^2", "5 cm^2"),
    ("18 eggs", "18"),
    ("18 eggs", "18 egg"),
    (r"\$18", "18"),
    ("$18.00", "18 dollars"),
    # roots and powers
    (r"\frac{\sqrt{8}}{2}", "sqrt(2)"),
    (r"\sqrt{12}", r"2\sqrt{3}"),
    (r"\sqrt2\sqrt3", r"\sqrt{6}"),
    (r"\frac{1}{\sqrt{3}}", r"\frac{\sqrt3}{3}"),
    (r"\frac{2}{1+\sqrt{3}}", r"\sqrt{3}-1"),
    (r"\sqrt[3]{54}", r"3\sqrt[3]{2}"),
    (r"\sqrt[3]{-8}", "-2"),
    (r"\sqrt{2+\sqrt3}", r"\frac{\sqrt6+\sqrt2}{2}"),
    (r"2^{10}", "1024"),
    (r"2^{-1}", "0.5"),
    ("8^(2/3)", "4"),
    ("2**3", "8"),
    (r"\sqrt{\frac{4}{9}}", "2/3"),
    (r"\sqrt{-4}", "2i"),
    ("(1+i)^2", "2i"),
    # constants, functions
    (r"2\pi", "2π"),
    (r"\frac{3}{4}\pi", r"\frac{3\pi}{4}"),
    (r"\log_2 3", r"\log_{2}{3}"),
    (r"\sin 1", r"\sin(1)"),
    ("5!", "120"),
    (r"\binom{5}{2}", "10"),
    ("|-3|", "3"),
    # expressions and equations
    ("x^2+2x+1", "(x+1)^2"),
    ("(x-1)(x+1)", "x^2 - 1"),
    ("2xy", r"y \cdot 2x"),
    (r"\frac{1}{x-1}", r"\frac{-1}{1-x}"),
    ("x^2/x", "x"),
    ("e^{2x}", "e^(2x)"),
    ("x=5", "5"),
    ("f(x) = 2x", "2x"),
    (r"\text{Area} = 12", "12"),
    ("x = 3 + 2 = 5", "5"),
    ("2x+y=5", "y+2x=5"),
    ("x>5", "5<x"),
    (r"x \ge 2", "x >= 2"),
    ("a_1", "a_{1}"),
    ("1011_2", "1011_{2}"),
    # tuples, lists, sets, intervals, matrices
    ("(1,2)", "( 1 , 2 )"),
    (r"\left(\frac{1}{2}, 3\right)", "(0.5,3)"),
    ("(3,125)", "(3, 125)"),
    ("1,2,3", "3, 1, 2"),
    (r"3 \text{ and } 4", "4,3"),
    ("3 or 4", "4, 3"),
    ("x = 3, x = 4", "3,4"),
    (r"1\pm\sqrt2", r"1+\sqrt{2}, 1-\sqrt{2}"),
    (r"\{1,2\}", r"\{2,1\}"),
    (r"\{1,2,2\}", "{1, 2}"),
    (r"\{1,2\}", "1,2"),
    ("[0,1)", "[0, 1)"),
    (r"(-\infty,3]", r"x\in(-\infty, 3]"),
    (r"[0,1)\cup(2,3]", r"(2,3]\cup [0,1)"),
    ("3:4", "3 : 4"),
    (
        r"\begin{pmatrix} 1 & 2 \\ 3 & 4\end{pmatrix}",
        r"\begin{bmatrix}1&2\\3&\frac82\end{bmatrix}",
    ),
    # texts
    (r"\text{Evelyn}", "Evelyn"),
    (r"\text{yes}", "Yes."),
    ("June 20", "june  20"),
    (r"\text{(A)}", "A"),
    ("(B)", "B"),
    (r"\text{even}", r"\textbf{even}"),
    # what stands around an answer
    (r"\boxed{7}", "7"),
    (r"\(7\)", "$7$"),
    (r"\displaystyle 7", "**7**"),
]

DIFFERENT = [
    ("1/2", "1/3"),
    ("0.333", "1/3"),
    ("3.14", r"\pi"),
    (r"\sqrt2", "1.414"),
    ("1,234", "1.234"),
    ("-3", "3"),
    ("12", "1 2/3"),
    ("50%", "5"),
    ("0.5", "0.5%"),
    ("50", "0.5%"),
    ("5 cm", "5 m"),
    ("5 cm", "6"),
    ("18 eggs", "18 boxes"),
    (r"\sqrt{3}", r"\sqrt{5}"),
    (r"\sqrt[3]{2}", r"\sqrt{2}"),
    (r"\sqrt{2+\sqrt3}", r"\sqrt{2+\sqrt5}"),
    ("2^{10}", "10^{2}"),
    ("2i", "-2i"),
    (r"2\pi", "2"),
    (r"\log_2 3", r"\log_3 2"),
    ("x", "y"),
    ("2x", "x^2"),
    ("(x+1)^2", "x^2+1"),
    ("x = 5, x = 6", "5"),
    ("x>5", "x<5"),
    ("x>5", r"x \ge 5"),
    ("1011_2", "1011"),
    ("(1,2)", "(2,1)"),
    ("(1,2)", "[1,2]"),
    ("[0,1)", "[0,1]"),
    ("(1,2)", "1,2"),
    ("1,2", "1,2,3"),
    ("1,1,2", "1,2,2"),
    (r"\{1,2\}", r"\{1,3\}"),
    ("3,125", "(3,125)"),
    ("3:4", "4:3"),
    (r"\begin{pmatrix} 1 & 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    (r"[0,1)\cup(2,3]", "[0,1)"),
    ("A", "B"),
    ("yes", "no"),
    (r"\text{even}", r"\text{odd}"),
    ("June 20", "June 21"),
    (r"\infty", r"-\infty"),
]


@pytest.mark.parametrize(("reference", "given"), EQUAL)
def test_equal_answers_are_the_same_both_ways(reference: str, given: str):
    assert same(read(reference), read(given))
    assert same(read(given), read(reference))


@pytest.mark.parametrize(("reference", "given"), DIFFERENT)
def test_different_answers_are_not(reference: str, given: str):
    assert not same(read(reference), read(given))


def test_the_table_has_a_hundred_pairs_and_more():
    assert len(set(EQUAL)) > 90
    assert len(set(EQUAL)) + len(set(DIFFERENT)) > 130


def test_a_sign_of_percent_is_left_out_of_what_is_asked_in_percent():
    assert same(read("0.5%"), read("0.5"))  # "what percent is ...?"
    assert same(read("120"), read("120%"))
    assert not same(read("0.5"), read("0.5%"))  # a share


@pytest.mark.parametrize(
    "text", ["", " ", "$$", "1 2", "((", r"\frac{1}", "{1", "5 +", r"\unknown{3}", "é", "1/0"]
)
def test_what_is_no_answer_is_unreadable(text: str):
    with pytest.raises(Unreadable):
        read(text)
