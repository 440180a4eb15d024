"""The combination as a circuit of small look-up tables over encrypted digits.

A dissimilarity of 8 bits is written in digits of the bases 6, 7, 7 before it is encrypted, so that
no table reads more than 4 bits; the cost of a table grows about fourfold from 4 to 6 bits. Since
argmin over classes of the minimum over participants asks for the smallest of all scores, digits
are compared among all of them together, the most significant first:

1. The least first digit is the number of levels that no score lies at or below. Participants
   encrypt the indicators "digit ≤ level" too, so that the server can add them up without tables,
   and one table per level decides whether a sum is zero.
2. Scores with a larger digit are excluded: their next digit becomes the base, above every digit.
3. The minimum of the next digit over participants, for each class, and over classes is found by a
   tournament: min(a, b) = a − max(a − b, 0), one table.
4. After the last digit a class has the overall minimum or not; the number of prefixes of classes
   without any is the index of the first that has it.

For S participants and C classes that takes about 6SC + 2C tables. With more than 15 classes, or
225 scores, sums have more than 4 bits, which works but is slower.
"""

import numpy as np

from skdp.secure._scale import LARGEST

# Bases of the digits, the most significant first; their product is at least 256. They are the
# largest bases whose tables take 4 bits; (18, 15) with tables of 5 bits costs 40% more, and
# (10, 3, 3, 3) 20% (the compiler's estimate for 3 participants and 10 classes).
BASES = (6, 7, 7)


def encode(dissimilarities):
    """Return dissimilarities of uint8 as digits and indicators, (n_classes, 8).

    Three digits, and whether the first is at most 0, 1, 2, 3, 4.
    """
    rest = np.asarray(dissimilarities, dtype=np.int64)
    digits = []
    for base in BASES[:0:-1]:
        digits.append(rest % base)
        rest = rest // base
    indicators = rest[:, None] <= np.arange(BASES[0] - 1)
    return np.column_stack([rest, *digits[::-1], indicators]).astype(np.int64)


def examples(n_participants, n_classes):
    """Return encoded queries that together reach the ends of every range in the circuit."""
    shape = (n_participants, n_classes)
    rng = np.random.RandomState(0)
    queries = [rng.randint(0, LARGEST + 1, shape) for _ in range(20)]
    queries += [np.full(shape, value) for value in range(0, LARGEST + 1)]
    for value in (0, BASES[2] - 1, LARGEST - 3):
        for others in (value + 1, LARGEST):
            for position in range(n_classes):
                query = np.full(shape, min(others, LARGEST))
                query[:, position] = value
                queries.append(query)
            for position in range(n_participants):
                query = np.full(shape, min(others, LARGEST))
                query[position] = value
                queries.append(query)
    return [tuple(encode(row) for row in query) for query in queries]


def make_circuit(fhe, inputs, n_classes):
    """Return the function that the library compiles: encoded scores by name to a class index."""

    def look_up(function, n_values, x):
        """Return a function of encrypted numbers below ``n_values``."""
        bits = max(1, int(n_values - 1).bit_length())
        table = fhe.LookupTable([int(function(value)) for value in range(2**bits)])
        return table[fhe.hint(x, bit_width=bits)]

    def is_zero(x, n_values):
        return look_up(lambda value: value == 0, n_values, x)

    def minimum(values, base):
        def lower(a, b):
            return a - look_up(lambda value: max(value - base, 0), 2 * base + 1, a - b + base)

        while len(values) > 1:
            pairs = list(zip(values[::2], values[1::2], strict=False))
            values = [lower(a, b) for a, b in pairs] + values[2 * len(pairs) :]
        return values[0]

    def least_first_digit(participants):
        scores = [rows[c, len(BASES) :] for rows in participants for c in range(n_classes)]
        none = []
        for start in range(0, len(scores), 15):  # a table of 4 bits reads their sum
            group = scores[start : start + 15]
            none.append(is_zero(sum(group[1:], group[0]), len(group) + 1))
        if len(none) > 1:
            total, n_groups = sum(none[1:], none[0]), len(none)
            none = [look_up(lambda value: value >= n_groups, n_groups + 1, total)]
        return np.sum(none[0])

    def circuit(**encrypted):
        participants = [encrypted[name] for name in inputs]
        least = least_first_digit(participants)
        excess, n_values = [rows[:, 0] - least for rows in participants], BASES[0]
        for place, base in enumerate(BASES[1:], start=1):
            digits = [
                look_up(
                    lambda value, base=base: min(value, base),
                    2 * base,
                    look_up(lambda value, base=base: base * (value > 0), n_values, above)
                    + rows[:, place],
                )
                for above, rows in zip(excess, participants, strict=True)
            ]
            of_classes = minimum(digits, base)
            least = minimum([of_classes[c] for c in range(n_classes)], base)
            excess, n_values = [digit - least for digit in digits], base + 1
        winners = is_zero(of_classes - least, n_values).reshape((1, n_classes))
        prefixes = np.triu(np.ones((n_classes, n_classes), dtype=np.int64))[:, :-1]
        counts = (winners @ prefixes).reshape(n_classes - 1)
        return np.sum(is_zero(counts, n_classes + 1))

    return circuit
