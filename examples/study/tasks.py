"""What models are trained on: problems to train on and problems that are held out, how an answer is judged, and answers to
imitate, of which a share is wrong."""

import itertools
import random
from dataclasses import dataclass
from typing import Callable

# Of ten problems one is held out.
HELD_OUT = 0.1


@dataclass(frozen=True)
class Task:
    name: str
    # What specs call its problems, and those that are held out.
    names: tuple
    train: tuple
    held_out: tuple
    verifier: dict
    max_new_tokens: int
    # An answer to a problem: a right one or, by a number that says how far off, a wrong one.
    answer: Callable

    def rows(self, draw, count, right, spread):
        """Rows to imitate: problems that are not held out, with answers of which a share of `right` is right."""
        rows = []
        for _ in range(count):
            problem = draw.choice(self.train)
            rows.append({"prompt": problem["prompt"], "completion": self.answer(draw, problem, draw.random() < right, spread)})
        return rows


def split(problems):
    """Problems with their keys, those to train on and those that are held out, in an order of their own."""
    train, held_out = [], []
    for key, problem in problems:
        (held_out if random.Random(key).random() < HELD_OUT else train).append(problem)
    for part in (train, held_out):
        random.Random(len(part)).shuffle(part)
    return tuple(train), tuple(held_out)


def sums():
    """All additions and subtractions of two numbers below 100 whose results are not negative; the same operands in the other
    order are held out together."""
    for a, b in itertools.product(range(100), repeat=2):
        for sign, result in (("+", a + b), ("-", a - b)):
            if result >= 0:
                yield f"{sign}{max(a, b)} {min(a, b)}", {"prompt": f"{a}{sign}{b}=", "answer": str(result)}


def a_sum(draw, problem, right, spread):
    off = 0 if right else draw.choice([-1, 1]) * draw.randint(1, spread)
    return str(abs(int(problem["answer"]) + off))


def ways(numbers):
    """All ways to combine three numbers by plus and minus, two first: the result, and the work as it is written down."""
    for first, second, third in itertools.permutations(numbers):
        for sign, middle in (("+", first + second), ("-", first - second)):
            if middle <= 0 or (sign == "+" and first < second):
                continue
            begun = f"{first}{sign}{second}={middle}"
            yield middle + third, f"{begun}\n{middle}+{third}={middle + third}\n{first}{sign}{second}+{third}"
            if middle > third:
                yield middle - third, f"{begun}\n{middle}-{third}={middle - third}\n{first}{sign}{second}-{third}"
            if third > middle:
                yield third - middle, f"{begun}\n{third}-{middle}={third - middle}\n{third}-({first}{sign}{second})"


def riddles(count=6000, largest=30):
    """Three different numbers that are to be combined into another one."""
    draw, seen = random.Random("riddles"), set()
    while len(seen) < count:
        numbers = draw.sample(range(1, largest + 1), 3)
        target = draw.choice(sorted({result for result, _ in ways(numbers)} - set(numbers)))
        key = f"{sorted(numbers)} {target}"
        if key not in seen:
            seen.add(key)
            prompt = f"{','.join(map(str, numbers))}?{target}="
            yield key, {"prompt": prompt, "numbers": numbers, "target": target}


def work(draw, problem, right, _spread):
    """The steps, each right, and the expression that they amount to."""
    found = [text for result, text in ways(problem["numbers"]) if (result == problem["target"]) == right]
    return draw.choice(found)


ARITHMETIC = Task("sums", ("problems", "held-out"), *split(sums()), {"type": "numeric"}, 6, a_sum)
COUNTDOWN = Task("riddles", ("riddles", "held-out-riddles"), *split(riddles()), {"type": "expression", "extract": "last_line"}, 32, work)
TASKS = {task.name: task for task in (ARITHMETIC, COUNTDOWN)}
