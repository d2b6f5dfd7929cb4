"""Makes tests/data/math_pairs.jsonl: pairs of an expected and a given answer, whether they are the same, and what
math-verify says of them.

    python3 -m venv target/math-verify && target/math-verify/bin/pip install math-verify==0.9.0
    target/math-verify/bin/python tests/verifiers/math_pairs.py GSM8K_FILE... > tests/data/math_pairs.jsonl

The files are rows of GSM8K as JSON lines (`question`, `answer`). Whether a pair is the same is known from how it was
made, and not from either verifier. The same files give the same pairs.
"""

import json
import random
import re
import sys
from fractions import Fraction

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

RANDOM = random.Random(20)


def latex(value):
    """A fraction as LaTeX."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def number():
    return RANDOM.choice([-1, 1]) * RANDOM.randint(2, 19)


def gsm8k_rows(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                solution, answer = json.loads(line)["answer"].rsplit("####", 1)
                yield re.sub(r"<<.*?>>", "", solution).strip(), answer.strip().replace(",", "")


def writings(solution, value):
    """Ways to give the number `value`, one of which is drawn for each row."""
    whole = int(value)
    grouped = f"{whole:,}"
    return [
        rf"{solution} So the answer is \boxed{{{value}}}.",
        f"{solution}\nThe final answer is {value}.",
        f"{solution}\n#### {grouped}",
        f"{solution} **Final Answer:** {grouped}",
        rf"\boxed{{{whole}.00}}",
        rf"\boxed{{\${grouped}}}",
        f"The final answer is ${grouped}.",
        rf"\boxed{{{value}\text{{ units}}}}",
        rf"Therefore $x = {value}$.",
        rf"\(\boxed{{{grouped.replace(',', '{,}')}}}\)",
        rf"$\frac{{{3 * whole}}}{{3}}$",
        f"Answer: {value} dollars",
        rf"\boxed{{\text{{{value}}}}}",
        f"The result is {value}",
    ]


def from_gsm8k(paths):
    for at, (solution, value) in enumerate(gsm8k_rows(paths)):
        if not re.fullmatch(r"-?\d+", value):
            continue
        short = solution[-400:]
        ways = writings(short, value)
        for way in RANDOM.sample(range(len(ways)), 2):
            yield f"gsm8k[{at}].{way}", value, ways[way], True
        wrong = RANDOM.choice([int(value) + 1, int(value) * 10, -int(value) - 1, int(value) + 1000])
        way = RANDOM.randrange(len(ways))
        yield f"gsm8k[{at}].wrong.{way}", value, writings(short, str(wrong))[way], False


def polynomial(coefficients):
    """A polynomial in x as people write it, from its coefficients, the constant first."""
    terms = []
    for power in range(len(coefficients) - 1, -1, -1):
        factor = coefficients[power]
        if factor == 0:
            continue
        size = "" if abs(factor) == 1 and power > 0 else str(abs(factor))
        letter = ["", "x"][power] if power < 2 else f"x^{power}"
        terms.append(("-" if factor < 0 else "+") + size + letter)
    return "".join(terms).lstrip("+") or "0"


def times(a, b):
    product = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] += x * y
    return product


def factor_of(root):
    return f"(x{'-' if root > 0 else '+'}{abs(root)})"


def numbers(draw):
    a, b, c = number(), number(), abs(number())
    value = Fraction(a, b)
    yield "fraction", latex(value), latex(Fraction(a, b)).replace("frac", "dfrac"), True
    yield "fraction-plain", latex(value), f"{value.numerator}/{value.denominator}", True
    yield "fraction-unreduced", latex(value), rf"\frac{{{a * 3}}}{{{b * 3}}}", True
    yield "fraction-wrong", latex(value), latex(value + Fraction(1, 7)), False
    yield "fraction-inverted", latex(Fraction(abs(a), 23)), latex(Fraction(23, abs(a))), False
    quarter = Fraction(2 * abs(a) + 1, 4)
    yield "decimal", latex(quarter), f"{float(quarter)}", True
    yield "decimal-digits", f"{float(quarter)}", f"{float(quarter)}000", True
    yield "decimal-wrong", f"{float(quarter)}", f"{float(quarter) + 0.01:.2f}", False
    yield "mixed", latex(c + Fraction(1, 3)), rf"{c}\frac{{1}}{{3}}", True
    yield "mixed-wrong", latex(c + Fraction(1, 3)), rf"{c + 1}\frac{{1}}{{3}}", False
    yield "rounded-short", latex(Fraction(c, 23)), f"{c / 23:.3f}", False
    yield "rounded-long", latex(Fraction(c, 23)), f"{c / 23:.9f}", True
    yield "scientific", str(c * 1000), rf"{c} \times 10^3", True
    yield "scientific-negative", f"0.00{c:02d}", rf"{c} \times 10^{{-4}}", True
    yield "scientific-wrong", str(c * 1000), rf"{c} \times 10^4", False
    yield "small-differ", f"0.0000000{c}", f"0.0000000{c + 1}", False
    yield "grouped", str(c * 1_234_567), f"{c * 1_234_567:,}", True
    yield "percent", rf"{c}\%", f"{c} percent", True
    yield "percent-fraction", rf"{c}\%", latex(Fraction(c, 100)), True
    yield "percent-wrong", rf"{c}\%", rf"{c + 1}\%", False
    yield "sum", str(a + b), f"{a} + {b}".replace("+ -", "- "), True
    yield "power", str(c ** 3), f"{c}^3", True
    yield "large", f"2^{{{c + 100}}}", str(2 ** (c + 100)), True
    yield "large-wrong", str(10 ** 20 + c), str(10 ** 20 + c + 1), False
    yield "factorial", str(6 * 5 * 4 * 3 * 2), "6!", True
    yield "binomial", str((c + 1) * c // 2), rf"\binom{{{c + 1}}}{{2}}", True


def radicals(draw):
    a, b, c = abs(number()), RANDOM.choice([2, 3, 5, 6, 7]), abs(number())
    yield "radical", rf"{a}\sqrt{{{b}}}", rf"\sqrt{{{a * a * b}}}", True
    yield "radical-wrong", rf"{a}\sqrt{{{b}}}", rf"\sqrt{{{a * b}}}", False
    yield "radical-plain", rf"{a}\sqrt{{{b}}}", f"{a}*sqrt({b})", True
    yield "rationalised", rf"\frac{{{a}}}{{\sqrt{{{b}}}}}", rf"\frac{{{a}\sqrt{{{b}}}}}{{{b}}}", True
    yield "conjugate", rf"\frac{{1}}{{{a}+\sqrt{{{b}}}}}", rf"\frac{{{a}-\sqrt{{{b}}}}}{{{a * a - b}}}", True
    yield "conjugate-wrong", rf"{a}+\sqrt{{{b}}}", rf"{a}-\sqrt{{{b}}}", False
    nested = rf"\sqrt{{{a + c}+2\sqrt{{{a * c}}}}}"
    yield "nested", nested, rf"\sqrt{{{a}}}+\sqrt{{{c}}}", True
    yield "nested-wrong", nested, rf"\sqrt{{{a}}}+\sqrt{{{c + 1}}}", False
    yield "cube-root", rf"{a}\sqrt[3]{{2}}", rf"\sqrt[3]{{{2 * a ** 3}}}", True
    yield "half-power", rf"\sqrt{{{b}}}", rf"{b}^{{1/2}}", True
    yield "pi", rf"\frac{{{a}\pi}}{{{c}}}", rf"{latex(Fraction(a, c))}\pi", True
    yield "pi-decimal", rf"{a}\pi", f"{a * 3.141592653589793:.8f}", True
    yield "pi-rough", rf"{a}\pi", f"{a * 3.14:.2f}", False
    yield "plus-minus", rf"{a} \pm \sqrt{{{b}}}", rf"{a}+\sqrt{{{b}}}, {a}-\sqrt{{{b}}}", True
    yield "plus-minus-one", rf"\pm {a}", str(a), False
    yield "complex", f"{a}+{c}i", f"{c}i+{a}", True
    yield "complex-product", f"({a}+{c}i)^2", f"{a * a - c * c}+{2 * a * c}i".replace("+-", "-"), True
    yield "complex-wrong", f"{a}+{c}i", f"{a}-{c}i", False
    yield "log", str(c), rf"\log_2 {2 ** c}", True
    yield "log-sum", rf"\ln {a * b}", rf"\ln {a} + \ln {b}", True
    yield "log-wrong", rf"\ln {a * b}", rf"\ln {a + b + 50}", False
    yield "sine", r"\frac{1}{2}", r"\sin 30^\circ", True
    yield "sine-cosine", rf"\sin {a}^\circ", rf"\cos {90 - a}^\circ", True
    yield "sine-wrong", rf"\sin {a}^\circ", rf"\sin {a + 1}^\circ", False
    yield "exponential", rf"e^{{{a}}} \cdot e^{{{c}}}", rf"e^{{{a + c}}}", True


def functions(draw):
    a, b, c = number(), number(), number()
    square = times([-a, 1], [-b, 1])
    yield "expanded", factor_of(a) + factor_of(b), polynomial(square), True
    yield "expanded-wrong", factor_of(a) + factor_of(b), polynomial([square[0] + 1, *square[1:]]), False
    cube = times(square, [-c, 1])
    yield "cubic", factor_of(a) + factor_of(b) + factor_of(c), polynomial(cube), True
    yield "quotient", rf"\frac{{{polynomial(square)}}}{{x{-a:+d}}}", f"x{-b:+d}", True
    yield "partial", rf"\frac{{1}}{{x{a:+d}}}-\frac{{1}}{{x{a + 1:+d}}}", rf"\frac{{1}}{{(x{a:+d})(x{a + 1:+d})}}", True
    yield "reordered", f"{abs(a)}x+{abs(b)}y", f"{abs(b)}y+{abs(a)}x", True
    yield "other-variable", f"{abs(a)}x+{abs(b)}", f"{abs(a)}y+{abs(b)}", False
    yield "identity", r"\sin^2 x", r"1-\cos^2 x", True
    yield "double-angle", r"\sin(2x)", r"2\sin x\cos x", True
    yield "root-of-square", r"\sqrt{x^2}", "x", False
    yield "exponents", f"2^{{x+{abs(a)}}}", rf"{2 ** abs(a)} \cdot 2^x", True
    yield "exponents-wrong", f"2^{{x+{abs(a)}}}", f"2^x+{2 ** abs(a)}", False
    yield "equation", f"y={abs(a)}x{b:+d}", f"{abs(a)}x-y{b:+d}=0", True
    yield "equation-scaled", f"{abs(a)}x{b:+d}y={c}", f"{2 * abs(a)}x{2 * b:+d}y={2 * c}", True
    yield "equation-wrong", f"{abs(a)}x{b:+d}y={c}", f"{abs(a)}x{b:+d}y={c + 1}", False
    yield "assignment", f"x={a}", str(a), True
    yield "assignment-wrong", f"x={a}", str(a + 1), False


def collections(draw):
    a, b, c = sorted(RANDOM.sample(range(-20, 21), 3))
    yield "tuple", f"({a},{b})", rf"\left({a}, {b}\right)", True
    yield "tuple-order", f"({a},{b},{c})", f"({b},{a},{c})", False
    yield "tuple-length", f"({a},{b},{c})", f"({a},{b})", False
    yield "set-order", rf"\{{{a},{b},{c}\}}", rf"\{{{c},{a},{b}\}}", True
    yield "set-missing", rf"\{{{a},{b},{c}\}}", rf"\{{{a},{c}\}}", False
    yield "list", f"{a}, {b}, {c}", rf"{c},\ {a} \text{{ and }} {b}", True
    yield "list-extra", f"{a}, {b}", f"{a}, {b}, {c}", False
    yield "solutions", f"x={a} \\text{{ or }} x={b}", f"{b}, {a}", True
    yield "interval", f"[{a},{b})", rf"\left[{a}, {b}\right)", True
    yield "interval-ends", f"[{a},{b})", f"({a},{b})", False
    yield "interval-closed", f"[{a},{b}]", f"[{a},{b})", False
    yield "inequality-interval", rf"{a} < x \le {b}", f"({a},{b}]", True
    yield "inequality-turned", f"x > {a}", f"{a} < x", True
    yield "inequality-scaled", rf"x \le {a}", rf"-2x \ge {-2 * a}", True
    yield "inequality-wrong", f"x > {a}", f"x < {a}", False
    yield "inequality-strict", f"x > {a}", rf"x \ge {a}", False
    yield "union", rf"(-\infty,{a})\cup({b},\infty)", rf"({b},\infty)\cup(-\infty,{a})", True
    yield "union-hole", rf"(-\infty,{a})\cup({a},\infty)", rf"\mathbb{{R}} \setminus \{{{a}\}}", True
    yield "union-wrong", rf"(-\infty,{a})\cup({b},\infty)", rf"(-\infty,{b})\cup({c},\infty)", False
    rows = rf"\begin{{pmatrix}} {a} & {b} \\ {c} & 1 \end{{pmatrix}}"
    yield "matrix", rows, rows.replace("pmatrix", "bmatrix"), True
    yield "matrix-wrong", rows, rows.replace(" 1 ", " 2 "), False
    yield "matrix-transposed", rows, rf"\begin{{pmatrix}} {a} & {c} \\ {b} & 1 \end{{pmatrix}}", False
    yield "ratio", f"{abs(a) + 1}:{abs(b) + 101}", f"{2 * abs(a) + 2}:{2 * abs(b) + 202}", True
    yield "time", "12:30", "12:03", False


def words(draw):
    a = RANDOM.randint(2, 60)
    yield "unit", rf"{a}\text{{ cm}}", str(a), True
    yield "unit-scaled", rf"{a}\text{{ m}}", rf"{100 * a}\text{{ cm}}", True
    yield "unit-wrong", rf"{a}\text{{ m}}", rf"{a}\text{{ km}}", False
    yield "unit-square", rf"{a}\text{{ cm}}^2", rf"{a}\ \mathrm{{cm^2}}", True
    yield "currency", rf"\${a}", f"{a} dollars", True
    yield "cents", rf"\${a}", rf"{100 * a}\text{{ cents}}", True
    yield "degrees", rf"{a}^\circ", str(a), True
    yield "radians", rf"{3 * a}^\circ", latex(Fraction(3 * a, 180)) + r"\pi", True
    yield "base", rf"{a}_{{10}}", rf"{a}_{{8}}", False
    yield "name", r"\text{Evelyn}", r"\text{evelyn}", True
    yield "name-wrong", r"\text{Evelyn}", r"\text{Briana}", False
    choice = RANDOM.choice("ABCDE")
    yield "choice", choice, rf"\text{{({choice})}}", True
    yield "choice-wrong", choice, rf"\text{{({'B' if choice != 'B' else 'C'})}}", False


def from_templates(rounds):
    for draw in range(rounds):
        for template in (numbers, radicals, functions, collections, words):
            for name, gold, pred, same in template(draw):
                yield f"{name}[{draw}]", f"${gold}$", rf"The result is $\boxed{{{pred}}}$.", same


def judged(gold, pred):
    config = [LatexExtractionConfig(), ExprExtractionConfig()]
    expected = parse(gold, extraction_config=config, parsing_timeout=5)
    given = parse(pred, extraction_config=config, parsing_timeout=5)
    return bool(verify(expected, given, float_rounding=6, timeout_seconds=5))


def main():
    seen = set()
    for identifier, gold, pred, same in [*from_gsm8k(sys.argv[1:]), *from_templates(12)]:
        if (gold, pred) in seen:
            continue
        seen.add((gold, pred))
        row = {"id": identifier, "gold": gold, "pred": pred, "same": same, "math_verify": judged(gold, pred)}
        print(json.dumps(row))


if __name__ == "__main__":
    main()
