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
from functools import partial

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
LEAST = 0.25  # of the mean weight
HALF_WAY, FURTHER = 0.5, (0.7, 0.85, 1.0)  # shares of a stranger
HALVINGS = 2  # of the way back, once a share is found that is enough
PATIENCE = 2  # rounds without progress after which lowering weights is given up


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
    first = np.zeros(members, bool)
    for turn in range(budget + 1):
        latent = mixed(latents, weights)
        seen = assess(latent)
        risk = seen.at_risk[:members]
        if turn == 0:
            first = risk
        now = Mix(latent, weights, seen, first, turn)
        if best is None or _badness(now) < _badness(best):
            best = now
        lowered = np.where(risk, np.maximum(weights - beta, np.minimum(weights, LEAST)), weights)
        stuck = risk.all() or np.array_equal(lowered, weights) or turn - best.rounds >= PATIENCE
        if now.safe or stuck:
            break
        weights = lowered
    assert best is not None
    return best


def push_away(mix: Mix, strangers: Iterable[Floats], assess: Assess) -> Mix:
    """Move towards a person who does not exist, little further than it takes to be recognised as nobody.

    Half way to one stranger after the other; then back from where it was enough, or on if it nowhere was. The best
    of what was seen, if nothing is enough.
    """

    def towards(stranger: Floats, share: float) -> Mix:
        latent = ((1 - share) * mix.latent + share * stranger).astype(np.float32)
        return replace(mix, latent=latent, assessed=assess(latent), stranger=share)

    tried = []
    for stranger in strangers:
        now = towards(stranger, HALF_WAY)
        if now.safe:
            return _nearer(now, partial(towards, stranger))
        tried.append((now, stranger))
    tried.sort(key=lambda one: _badness(one[0]))
    seen = [mix, *(one for one, _ in tried)]
    for share in FURTHER:
        for _, stranger in tried:
            seen.append(towards(stranger, share))
            if seen[-1].safe:
                return seen[-1]
    return min(seen, key=_badness)


def _nearer(enough: Mix, towards: Callable[[float], Mix]) -> Mix:
    """A smaller share that is enough as well, by halving."""
    low = 0.0
    for _ in range(HALVINGS):
        now = towards((low + enough.stranger) / 2)
        if now.safe:
            enough = now
        else:
            low = now.stranger
    return enough


def _badness(mix: Mix) -> tuple[int, float]:
    """How many are recognised, then how surely."""
    margins = mix.assessed.margins
    return int((margins < 0).sum()), -float(margins.min(initial=0))
