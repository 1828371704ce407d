"""The re-identification risk loop: change a mix of people until no recogniser takes it for one of them.

M.-H. Le, M. S. N. Khan, G. Tsaloli, N. Carlsson and S. Buchegger, "AnonFACES: anonymizing faces adjusted to
constraints on efficacy and security", WPES 2020, section 3.4. A face is mixed from the members' latents by
weights; members whom the result is recognised as lose β of their weight, and it is mixed again.

Nothing here knows of faces: `assess` draws a latent and says how far it is from each person.

Deviations: weights have mean 1 (only their ratios count in the paper's equation 1), so β and δ are shares of the
mean weight. No weight falls below LEAST: without it a group of two would end as one member's own face. Where
weights do not help, the mix moves towards people who do not exist, no further than needed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
LEAST = 0.25  # of the mean weight
FIRST, STEPS = 0.65, (0.2, 0.15)  # shares of a stranger: where it begins, how far on or back from there


@dataclass(frozen=True, eq=False)
class Assessed:
    """A drawn face. `margins`: one per person, members first; below 0 a recogniser takes it for that person."""

    margins: Floats
    picture: NDArray[np.uint8]

    @property
    def at_risk(self) -> NDArray[np.bool_]:
        """Who is recognised."""
        return self.margins < 0


Assess = Callable[[Floats], Assessed]


@dataclass(frozen=True, eq=False)
class Mix:
    """What the loop ended with."""

    latent: Floats
    weights: NDArray[np.float64]
    assessed: Assessed
    first: NDArray[np.bool_]  # members at risk before anything was changed
    rounds: int = 0  # in which weights were lowered
    stranger: float = 0.0  # share of somebody who does not exist

    @property
    def safe(self) -> bool:
        """Nobody is recognised: the paper's u = 0."""
        return not self.assessed.at_risk.any()


def start_weights(members: int, delta: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniform in (1 − δ, 1 + δ), so that repeating the method does not repeat its output; δ = 0: all 1."""
    return 1 + delta * rng.uniform(-1, 1, members)


def mixed(latents: Floats, weights: NDArray[np.float64]) -> Floats:
    """Σ w·latent / Σ w (the paper's equation 1)."""
    return np.asarray(weights @ latents / weights.sum(), np.float32)


def lower_weights(
    latents: Floats, weights: NDArray[np.float64], assess: Assess, beta: float, budget: int
) -> Mix:
    """Take β from whom the mix is recognised as, until it is nobody; the best of at most 1 + `budget` mixes."""
    members = len(latents)
    best: Mix | None = None
    depths: list[float] = []  # how far below 0 the worst margin was
    first = np.zeros(members, bool)
    for turn in range(budget + 1):
        latent = mixed(latents, weights)
        seen = assess(latent)
        risk = seen.at_risk[:members]
        depths.append(-float(seen.margins.min(initial=0)))
        if turn == 0:
            first = risk
        now = Mix(latent, weights, seen, first, turn)
        if best is None or _badness(now) < _badness(best):
            best = now
        lowered = np.where(risk, np.maximum(weights - beta, np.minimum(weights, LEAST)), weights)
        stuck = risk.all() or np.array_equal(lowered, weights)
        if now.safe or stuck or _too_slow(depths, budget):
            break
        weights = lowered
    assert best is not None
    return best


def _too_slow(depths: list[float], budget: int) -> bool:
    """Whether the rest of the budget would not end the risk at the pace of the rounds so far."""
    rounds = len(depths) - 1
    return rounds > 0 and (depths[0] - depths[-1]) / rounds * (budget - rounds) < depths[-1]


def push_away(mix: Mix, strangers: Iterable[Floats], assess: Assess) -> Mix:
    """Move towards a person who does not exist, little further than it takes to be recognised as nobody.

    Three mixes with one stranger after the other, until one of them is enough; the best of all if none is.
    """
    seen = [mix]
    for stranger in strangers:
        tried = _towards(stranger, mix, assess)
        enough = [one for one in tried if one.safe]
        if enough:
            return min(enough, key=lambda one: one.stranger)
        seen += tried
    return min(seen, key=_badness)


def _towards(stranger: Floats, mix: Mix, assess: Assess) -> list[Mix]:
    """Mixes with this stranger, each nearer to where the risk ends."""
    share, seen = FIRST, []
    for step in (*STEPS, 0.0):
        latent = ((1 - share) * mix.latent + share * stranger).astype(np.float32)
        seen.append(replace(mix, latent=latent, assessed=assess(latent), stranger=share))
        share = round(share - step if seen[-1].safe else share + step, 2)
    return seen


def _badness(mix: Mix) -> tuple[int, float]:
    """How many are recognised, then how surely."""
    margins = mix.assessed.margins
    return int((margins < 0).sum()), -float(margins.min(initial=0))
