import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "examples" / "custom_op.py"

OUTPUT = """\
1/(1+x/(1+x/...)) at x=1, 12 deep: 233/377 = 0.6180371353
its derivative, in reverse and forward: -24276/142129 and -24276/142129
gradient of a smoothing loss: [0.7713 2.477  6.0102]
verify_grad agrees

A mistake, and what is said about it:
0.5 is a float; pass Fraction(...), an int, or allow_downcast=True
Bad argument at index 0 ('x') of function():
expected a value of type fraction, got 0.5 of type float.
Signature: function(x: fraction)
"""


def test_the_program_prints_what_it_should():
    done = subprocess.run(
        [sys.executable, "-W", "error", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == (OUTPUT, "", 0)


def test_the_numbers_are_right():
    # Convergents of the golden ratio are quotients of Fibonacci numbers; the derivative of the
    # continued fraction is checked by exact differences of a quotient of polynomials.
    from fractions import Fraction

    def value(x):
        result = Fraction(1)
        for _ in range(12):
            result = 1 / (1 + x * result)
        return result

    assert value(Fraction(1)) == Fraction(233, 377)
    step = Fraction(1, 10**9)
    slope = (value(1 + step) - value(1 - step)) / (2 * step)
    assert abs(slope - Fraction(-24276, 142129)) < Fraction(1, 10**15)
