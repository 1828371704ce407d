"""The attacks of the papers, each as probes against a gallery.

    naive      released photos are looked up among the originals
    reverse    originals are looked up among the released photos
    parrot     released photos are looked up among the *other* released photos of everyone
    restored   naive after undoing blur and pixelation, with the face cut out by hand
    trained    naive after a map that was learnt from the method's own output on the attacker's faces

(Newton, Sweeney & Malin 2005 for the first three.) What could not be acquired is counted as not found.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.acquire import Looks
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.intervals import (
    Estimate,
    Rate,
    estimate_by_person,
    interval,
    rate_by_person,
    share_by_person,
    weights_by_person,
)
from faceveil.evaluation.matching import COARSE, Matches, Templates, match
from faceveil.evaluation.results import AttackResult

Floats = NDArray[np.float64]
Map = Callable[[NDArray[np.float32]], NDArray[np.float32]]

ATTACKS = ("naive", "reverse", "parrot", "restored", "trained")
CMC_RANKS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000)


def run_attack(
    attack: str, looks: Looks, attacker: Attacker, trained: Map | None = None
) -> AttackResult | None:
    """One attack; None where it has no genuine comparison (parrot needs people with two photos)."""
    originals, released = looks.templates("original", attacker), looks.templates("anonymised", attacker)
    if attack == "naive":
        return judge(attack, attacker, released, originals)
    if attack == "reverse":
        return judge(attack, attacker, originals, released)
    if attack == "parrot":
        return judge(attack, attacker, released, released, skip_same_photo=True)
    if attack == "restored":
        return judge(attack, attacker, looks.templates("restored", attacker), originals)
    if attack == "trained" and trained is not None:
        mapped = replace(released, embeddings=trained(released.embeddings))
        return judge(attack, attacker, mapped, originals)
    raise ValueError(f"no attack {attack!r}, or it was not trained")


def baseline(looks: Looks, attacker: Attacker) -> AttackResult | None:
    """Originals among the other originals: what the recogniser can do when nothing is protected."""
    originals = looks.templates("original", attacker)
    return judge("unprotected", attacker, originals, originals, skip_same_photo=True)


def judge(
    attack: str, attacker: Attacker, probes: Templates, gallery: Templates, *, skip_same_photo: bool = False
) -> AttackResult | None:
    """Match and count."""
    scale = _scale(attacker, probes, gallery)
    found = match(probes, gallery, scale=scale, euclidean=attacker.euclidean, skip_same_photo=skip_same_photo)
    if not found.possible.any() or found.impostor.total == 0:
        return None
    kept = found.possible
    person = found.probe_person
    ranks = [rank for rank in CMC_RANKS if rank < found.gallery_people] + [found.gallery_people]
    threshold = attacker.recognizer.threshold
    fmr, fnmr, gfrr = _at_threshold(found, threshold)
    whole = found.curve
    curve = whole.thinned()
    eers, aucs = found.samples(weights_by_person(found.people))
    acquired = found.curve_acquired
    return AttackResult(
        attack=attack, recognizer=attacker.id, recognizer_name=attacker.name,
        used_by_method=attacker.used_by_method,
        probes=int(kept.sum()), people=len(np.unique(person[kept])), gallery_people=found.gallery_people,
        chance=1 / found.gallery_people,
        found=found_rate(found.hits(1), person, kept),
        mean_rank=_by_person(found.ranks(), person, kept),
        cmc_ranks=ranks, cmc=[_person_mean(found.hits(rank), person, kept) for rank in ranks],
        fta=share_by_person(~found.acquired, person, np.ones_like(kept)),
        fte=_enrolment(gallery),
        fmr=fmr, fnmr=fnmr, gfrr=gfrr, threshold=threshold,
        eer=interval(whole.eer, eers),
        eer_acquired=acquired.eer if acquired else float("nan"),
        auc=interval(whole.auc, aucs),
        curve_fmr=curve.fmr.tolist(), curve_fnmr=curve.fnmr.tolist(),
    )  # fmt: skip


def _scale(attacker: Attacker, probes: Templates, gallery: Templates) -> float:
    """The largest distance there can be."""
    if not attacker.euclidean:
        return 2.0
    lengths = [
        np.linalg.norm(one.embeddings[one.acquired], axis=1).max(initial=0.5) for one in (probes, gallery)
    ]
    return float(1.001 * sum(lengths))


def found_rate(hits: Floats, person: NDArray[np.intp], kept: NDArray[np.bool_]) -> Rate:
    """The share of people found, each weighing the same: the mean of a person's photos counts."""
    people, index = np.unique(person[kept], return_inverse=True)
    mean = np.bincount(index, weights=hits[kept]) / np.bincount(index)
    return rate_by_person(mean, np.ones(len(people)), errors=mean)


def _enrolment(gallery: Templates) -> Rate:
    people, index = np.unique(gallery.person, return_inverse=True)
    enrolled = np.bincount(index, weights=gallery.acquired.astype(np.float64))
    return rate_by_person((enrolled == 0).astype(np.float64), np.ones(len(people)))


def _by_person(values: Floats, person: NDArray[np.intp], kept: NDArray[np.bool_]) -> Estimate:
    people, index = np.unique(person[kept], return_inverse=True)
    mean = np.bincount(index, weights=values[kept]) / np.bincount(index)
    return estimate_by_person(lambda drawn: (drawn @ mean) / drawn.sum(1), len(people))


def _person_mean(values: Floats, person: NDArray[np.intp], kept: NDArray[np.bool_]) -> float:
    _, index = np.unique(person[kept], return_inverse=True)
    return float(np.mean(np.bincount(index, weights=values[kept]) / np.bincount(index)))


def _at_threshold(found: Matches, threshold: float) -> tuple[Rate, Rate, Rate]:
    """FMR and FNMR over comparisons that took place, and the non-matches with failures counted."""
    edge = min(COARSE, round(threshold / found.scale * COARSE))
    genuine, impostor = found.genuine_by_person, found.impostor_by_person
    fmr = rate_by_person(
        impostor[:, :edge].sum(1), impostor[:, :COARSE].sum(1), errors=impostor[:, :edge].sum(1)
    )
    misses = genuine[:, edge:COARSE].sum(1)
    fnmr = rate_by_person(misses, genuine[:, :COARSE].sum(1), errors=misses)
    gfrr = rate_by_person(misses + genuine[:, COARSE], genuine.sum(1), errors=misses + genuine[:, COARSE])
    return fmr, fnmr, gfrr
