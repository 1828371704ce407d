"""Evaluate a folder of released photos against its originals: every attack with every recogniser."""

import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from faceveil import __version__
from faceveil.errors import UsageError
from faceveil.evaluation.acquire import Looks, look_at_all
from faceveil.evaluation.attackers import Attacker, attackers
from faceveil.evaluation.attacks import baseline, run_attack
from faceveil.evaluation.cache import Cache
from faceveil.evaluation.clusters import MOST, Groups, cluster_level, diversity, exposed, shared_faces
from faceveil.evaluation.groups import group_rates, group_warnings
from faceveil.evaluation.people import Pairs, pair_photos, read_table
from faceveil.evaluation.protocol import protocol_results, read_pairs
from faceveil.evaluation.results import AttackResult, Results
from faceveil.evaluation.trained import Map, Method, learn_maps
from faceveil.evaluation.utility import measure_pair, summarise

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Options:
    """How to evaluate."""

    subjects: str = "auto"
    recognizers: tuple[str, ...] = ()  # all by default
    own_models: tuple[Path, ...] = ()
    used_by_method: tuple[str, ...] = ()
    utility: bool = True
    restoration: bool = True
    groups: Path | None = None  # CSV: photo, then one column per attribute
    clusters: Path | None = None  # CSV: photo, cluster
    pairs: Path | None = None  # a pairs.txt as LFW's
    method: Method | None = None  # for the trained parrot
    attacker_faces: Path | None = None
    cache: Path | None = None
    workers: int | None = None


@dataclass
class _Clock:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 2)


def evaluate(
    originals: Path, anonymised: Path, options: Options | None = None, progress: Progress | None = None
) -> Results:
    """Attack a result, whoever made it, and measure what is left of its use."""
    options = options or Options()
    if (options.method is None) != (options.attacker_faces is None):
        raise UsageError(
            "the trained attack needs both the method (--method-command) and --attacker-faces FOLDER."
        )
    clock = _Clock()
    judges = attackers(options.recognizers, options.own_models, options.used_by_method)
    cache = Cache(options.cache)
    with clock.stage("pair"):
        pairs = pair_photos(originals, anonymised, options.subjects)
    try:
        with clock.stage("find and embed"):
            looks = _look(pairs, judges, cache, options, progress)
        maps: dict[str, Map] = {}
        if options.method is not None and options.attacker_faces is not None:
            with clock.stage("train the attacker"):
                maps = learn_maps(options.method, options.attacker_faces, judges, cache)
    finally:
        cache.close()
    with clock.stage("match"):
        attacks, warnings = _attack(looks, judges, maps, options)
        plain = [found for one in judges if (found := baseline(looks, one)) is not None]
    with clock.stage("clusters"):
        groups = _clusters(looks, judges, options)
        levels = [level for one in judges if (level := cluster_level(looks, one, groups)) is not None]
        variety = {one.id: diversity(looks, one) for one in judges}
    with clock.stage("protocol"):
        protocol = protocol_results(looks, judges, read_pairs(options.pairs)) if options.pairs else []
    with clock.stage("utility"):
        utility = summarise(looks, groups) if options.utility else {}
    rates = group_rates(looks, max(attacks, key=lambda one: one.found.high), judges, options.groups)
    return Results(
        originals=str(originals), anonymised=str(anonymised), version=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        photos=len(pairs.pairs), people=len(pairs.people),
        released=sum(pair.anonymised is not None for pair in pairs.pairs),
        withheld=sum(pair.anonymised is None for pair in pairs.pairs), unpaired=pairs.unpaired,
        not_found_in_original=sum(look.original is None for look in looks.looks),
        several_faces=sum(look.faces > 1 for look in looks.looks),
        recognizers=[_describe(one) for one in judges], attacks=attacks, baseline=plain,
        exposed=exposed(looks, judges), clusters=levels, protocol=protocol, diversity=variety,
        utility=utility, groups=rates,
        warnings=[*warnings, *_warnings(looks, judges, plain, options.clusters is not None), *group_warnings(rates)],
        parameters={
            "subjects": options.subjects, "detector": "yunet.2023mar", "trained": bool(maps),
            "restored": {kind: sum(look.undone == kind for look in looks.looks) for kind in ("blur", "pixelation")},
        },
        seconds=clock.seconds,
    )  # fmt: skip


def _look(
    pairs: Pairs, judges: Sequence[Attacker], cache: Cache, options: Options, progress: Progress | None
) -> Looks:
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress:
            progress("find and embed", done, len(pairs.pairs))

    return look_at_all(
        pairs, judges, cache, restored=options.restoration, measure=measure_pair if options.utility else None,
        progress=step, workers=options.workers,
    )  # fmt: skip


def _attack(
    looks: Looks, judges: Sequence[Attacker], maps: dict[str, Map], options: Options
) -> tuple[list[AttackResult], list[str]]:
    names = ["naive", "reverse", "parrot"]
    names += ["restored"] if options.restoration else []
    names += ["trained"] if maps else []
    done, warnings = [], []
    for name in names:
        found = [run_attack(name, looks, one, maps.get(one.id)) for one in judges]
        done += [one for one in found if one is not None]
        if all(one is None for one in found):
            why = "every person has one released photo" if name == "parrot" else "nobody can be compared"
            warnings.append(f"the attack {name} was not possible: {why}")
    if not done:
        raise UsageError(
            "no attack was possible: at least two people are needed. Give the people with --subjects."
        )
    return done, warnings


def _clusters(looks: Looks, judges: Sequence[Attacker], options: Options) -> Groups:
    if options.clusters is None:
        return shared_faces(looks, judges)
    named = {row["photo"]: row["cluster"] for row in read_table(options.clusters, ("photo", "cluster"))}
    numbers = {name: number for number, name in enumerate(dict.fromkeys(named.values()))}
    return Groups(
        np.array([numbers.get(named.get(pair.name, ""), -1) for pair in looks.pairs.pairs], np.intp)
    )


def _describe(attacker: Attacker) -> dict[str, object]:
    return {
        "id": attacker.id, "name": attacker.name, "used_by_method": attacker.used_by_method,
        "threshold": attacker.recognizer.threshold, "sha256": attacker.sha256,
    }  # fmt: skip


def _warnings(
    looks: Looks, judges: Sequence[Attacker], plain: Sequence[AttackResult], clusters_given: bool
) -> list[str]:
    found = []
    people = len(looks.pairs.people)
    if people < 30:
        found.append(f"only {people} people: intervals are wide, and a guess finds {100 / people:.0f} %")
    if all(one.used_by_method for one in judges):
        found.append("every recogniser took part in making the result: its figures prove nothing")
    lost = sum(look.original is None for look in looks.looks)
    if lost:
        found.append(
            f"no face was found in {lost} of {len(looks.looks)} originals: nothing is said about them"
        )
    problems = [look.problem for look in looks.looks if look.problem]
    if problems:
        found.append(f"{len(problems)} photos could not be read, the first: {problems[0]}")
    if looks.pairs.unpaired:
        found.append(f"{len(looks.pairs.unpaired)} released photos have no original and were not judged")
    acquired = sum(look.anonymised is not None for look in looks.looks)
    if acquired > MOST and not clusters_given:
        found.append(
            f"over {MOST:,} released faces: shared ones were not looked for; name them with --clusters"
        )
    weak = [one.recognizer for one in plain if one.found.value < 0.5]
    if weak:
        found.append(f"on these originals {', '.join(weak)} finds under half of the people even unprotected")
    return found
