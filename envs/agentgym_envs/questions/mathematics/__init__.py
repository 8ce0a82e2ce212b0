"""Mathematical answers: a bounded reader of LaTeX and plain notation, and their comparison.

> same(read("\\frac{\\sqrt{8}}{2}"), read("sqrt(2)"))
True

Nothing is evaluated as code. Length, nesting, exponents, sizes of numbers and the number of operations are
bounded (`limits`), so that hostile text costs little time and memory; what exceeds a bound is `Unreadable`.

Names for other packages: `reading.read`, `limits.Unreadable`, `values.same`, `values.Scalar`,
`values.Words`.
"""

from agentgym_envs.questions.mathematics.limits import Unreadable
from agentgym_envs.questions.mathematics.reading import read
from agentgym_envs.questions.mathematics.values import Scalar, Value, Words, same

__all__ = ["Scalar", "Unreadable", "Value", "Words", "read", "same"]
