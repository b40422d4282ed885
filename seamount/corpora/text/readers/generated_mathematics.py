"""Generated questions and answers in the manner of DM Mathematics (arXiv 1904.01557), own text.

A document is a run of question and answer lines of one kind, up to 8 KiB, as the Pile cut them.
The n-th document is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

from seamount.core.records import Document, Quarantined
from seamount.corpora.text.inputs import Item

_DOCUMENT_BYTES = 8_192
_PER_ITEM = 16
_Pair = tuple[str, str]


def items(limit_bytes: int) -> list[Item]:
    """Numbered items of 16 documents; the last one is cut to the limit."""
    documents = max(1, round(limit_bytes / _DOCUMENT_BYTES))
    starts = range(0, documents, _PER_ITEM)
    counts = [min(_PER_ITEM, documents - start) for start in starts]
    return [
        Item(f"maths/{start:06d}", f"{start}:{count}", count * _DOCUMENT_BYTES, "")
        for start, count in zip(starts, counts, strict=True)
    ]


def read(item: Item, component: str) -> Iterator[Document | Quarantined]:
    """The documents of one item; each draws from its own seeded generator."""
    start, count = (int(part) for part in item.location.split(":"))
    for number in range(start, start + count):
        name = f"maths/{number:06d}"
        yield Document(_document(number), component, name, name)


def _document(number: int) -> str:
    random = Random(f"seamount mathematics {number}")
    kind = _KINDS[number % len(_KINDS)]
    lines: list[str] = []
    size = 0
    while size < _DOCUMENT_BYTES:
        question, answer = kind(random)
        lines += [question, answer]
        size += len(question) + len(answer) + 2
    return "\n".join(lines[:-2]) + "\n"


def _number(random: Random, most_digits: int = 6) -> int:
    return random.choice((1, 1, 1, -1)) * random.randrange(10 ** random.randint(1, most_digits))


def _sum(random: Random) -> _Pair:
    a, b = _number(random), _number(random)
    if random.random() < 0.5:
        form = random.choice(("What is {} plus {}?", "Add {} and {}.", "Total of {} and {}."))
        return form.format(a, b), str(a + b)
    form = random.choice(("What is {} minus {}?", "Subtract {1} from {0}.", "{} take away {}."))
    return form.format(a, b), str(a - b)


def _product(random: Random) -> _Pair:
    a, b = _number(random, 4), _number(random, 3)
    form = random.choice(("Multiply {} and {}.", "What is {} times {}?", "Product of {} and {}."))
    return form.format(a, b), str(a * b)


def _division(random: Random) -> _Pair:
    b = random.randint(2, 99)
    a = random.randrange(10_000)
    if random.random() < 0.5:
        return f"Calculate the remainder when {a} is divided by {b}.", str(a % b)
    shared = math.gcd(a, b)
    answer = str(a // b) if b == shared else f"{a // shared}/{b // shared}"
    return f"Divide {a} by {b}.", answer


def _divisors(random: Random) -> _Pair:
    shared = random.randint(1, 40)
    a, b = shared * random.randint(1, 60), shared * random.randint(1, 60)
    if random.random() < 0.5:
        return f"What is the greatest common divisor of {a} and {b}?", str(math.gcd(a, b))
    return f"Calculate the lowest common multiple of {a} and {b}.", str(math.lcm(a, b))


def _factors(random: Random) -> _Pair:
    n = random.randint(4, 20_000)
    found, rest, divisor = [], n, 2
    while divisor * divisor <= rest:
        while rest % divisor == 0:
            found.append(divisor)
            rest //= divisor
        divisor += 1
    primes = sorted({*found, rest} - {1})
    if random.random() < 0.3:
        return f"Is {n} prime?", str(primes == [n])
    return f"What are the prime factors of {n}?", ", ".join(map(str, primes))


def _linear(random: Random) -> _Pair:
    letter = random.choice("abcdefghjkmnpqrstuvwxyz")
    solution, slope, other = random.randint(-20, 20), random.randint(2, 30), random.randint(-9, 9)
    slope += slope == other
    constant = random.randint(-99, 99)
    right = constant + (slope - other) * solution
    left = f"{slope}*{letter} {_signed(constant)}"
    return f"Solve {left} = {other}*{letter} {_signed(right)} for {letter}.", str(solution)


def _polynomial(random: Random) -> _Pair:
    name, letter = random.choice("fghpqrs"), random.choice("abcktuvwxyz")
    coefficients = [random.randint(-12, 12) or 1 for _ in range(random.randint(2, 4))]
    written = _written(coefficients, letter)
    if random.random() < 0.5:
        x = random.randint(-9, 9)
        value = sum(c * x**power for power, c in enumerate(coefficients))
        return f"Let {name}({letter}) = {written}. Determine {name}({x}).", str(value)
    slope = [power * c for power, c in enumerate(coefficients)][1:]
    return f"What is the derivative of {written} wrt {letter}?", _written(slope, letter)


def _signed(value: int) -> str:
    return f"- {-value}" if value < 0 else f"+ {value}"


def _written(coefficients: list[int], letter: str) -> str:
    terms = []
    for power, value in reversed(list(enumerate(coefficients))):
        factor = "" if power == 0 else letter if power == 1 else f"{letter}**{power}"
        terms.append(_signed(value) + (f"*{factor}" if factor else ""))
    return " ".join(terms).removeprefix("+ ").replace("- ", "-", terms[0].startswith("-"))


def _order(random: Random) -> _Pair:
    values = random.sample(range(-500, 500), random.randint(3, 7))
    down = random.random() < 0.5
    order = "descending" if down else "ascending"
    answer = ", ".join(map(str, sorted(values, reverse=down)))
    return f"Sort {', '.join(map(str, values))} in {order} order.", answer


def _sequence(random: Random) -> _Pair:
    first, step, bend = random.randint(-99, 99), random.randint(-30, 30), random.randint(-3, 3)
    terms = [first + step * n + bend * n * n for n in range(7)]
    shown = ", ".join(map(str, terms[:6]))
    return f"What is the next term in {shown}?", str(terms[6])


def _base(random: Random) -> _Pair:
    base, value = random.choice((2, 3, 8, 16)), random.randrange(5_000)
    digits, rest = "", value
    while rest or not digits:
        digits = "0123456789abcdef"[rest % base] + digits
        rest //= base
    if random.random() < 0.5:
        return f"What is {value} (base 10) in base {base}?", digits
    return f"{digits} (base {base}) to base 10", str(value)


_KINDS: tuple[Callable[[Random], _Pair], ...] = (
    _sum,
    _product,
    _division,
    _divisors,
    _factors,
    _linear,
    _polynomial,
    _order,
    _sequence,
    _base,
)
