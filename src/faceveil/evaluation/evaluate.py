"""Evaluate a folder of released photos against its originals: every attack with every recogniser."""

import datetime
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faceveil import __version__
from faceveil.errors import UsageError
from faceveil.evaluation.acquire import Looks, cores, look_at_all
from faceveil.evaluation.attackers import Attacker, attackers
from faceveil.evaluation.attacks import baseline, run_attack
from faceveil.evaluation.cache import Cache
from faceveil.evaluation.caveats import caveats
from faceveil.evaluation.clusters import Groups, cluster_level, diversity, exposed, shared_faces
from faceveil.evaluation.groups import group_rates, group_warnings
from faceveil.evaluation.people import Pairs, pair_photos, read_table
from faceveil.evaluation.protocol import protocol_results, read_pairs
from faceveil.evaluation.results import AttackResult, Results, Shown, worst_of
from faceveil.evaluation.scan import Release, read_release
from faceveil.evaluation.shown import shown_originals
from faceveil.evaluation.trained import Map, Method, learn_maps
from faceveil.evaluation.utility import Utility, summarise
from faceveil.evaluation.who import name_faces, rows_of_faces
from faceveil.models.inception import read_inception
from faceveil.photos.names import shown as as_text

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
    inception: Path | None = None  # weights of FID's network
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
    _check(options)
    clock = _Clock()
    judges = attackers(options.recognizers, options.own_models, options.used_by_method)
    with clock.stage("pair"):
        pairs = pair_photos(originals, anonymised, options.subjects)
    looks, told, maps, release, shown = _see(pairs, judges, options, clock, progress)
    with clock.stage("match"):
        attacks, impossible = _attack(looks, judges, maps, options)
        plain = [found for one in judges if (found := baseline(looks, one)) is not None]
    with clock.stage("clusters"):
        groups = _clusters(looks, judges, options)
        levels = [level for one in judges if (level := cluster_level(looks, one, groups)) is not None]
        variety = {one.id: diversity(looks, one) for one in judges}
    with clock.stage("protocol"):
        protocol = protocol_results(looks, judges, read_pairs(options.pairs)) if options.pairs else []
    with clock.stage("utility"):
        utility = summarise(looks, groups) if options.utility else {}
    rates = group_rates(looks, worst_of(attacks), judges, options.groups)
    said = caveats(looks, judges, plain, options.clusters is not None, told)
    return Results(
        originals=as_text(originals), anonymised=as_text(anonymised), version=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), **_counts(pairs, looks, release),
        recognizers=[_describe(one) for one in judges], attacks=attacks, baseline=plain,
        exposed=exposed(looks, judges), shown=shown, clusters=levels, protocol=protocol, diversity=variety,
        utility=utility, groups=rates, warnings=[*impossible, *said, *group_warnings(rates)],
        parameters=_parameters(looks, options, trained=bool(maps)), seconds=clock.seconds,
    )  # fmt: skip


def _check(options: Options) -> None:
    if (options.method is None) != (options.attacker_faces is None):
        raise UsageError(
            "the trained attack needs both the method (--method-command) and --attacker-faces FOLDER."
        )
    if options.inception is not None:
        if not options.utility:
            raise UsageError("--inception is for a figure of utility; leave out --no-utility.")
        if not options.inception.is_file():
            raise UsageError(f"{options.inception} is not a file; give the weights of FID's InceptionV3.")
        read_inception(options.inception)  # a wrong file is refused before hours of work


def _see(
    pairs: Pairs, judges: Sequence[Attacker], options: Options, clock: _Clock, progress: Progress | None
) -> tuple[Looks, int, dict[str, Map], Release, list[Shown]]:
    """All faces with their people, of how many the recognisers told them, the trained attacker's maps, and whatever
    the release holds, with the original faces it shows."""
    cache, maps = Cache(options.cache), {}
    try:
        with clock.stage("find and embed"):
            looks = _look(pairs, judges, cache, options, progress)
        with clock.stage("tell people apart"):
            named = name_faces(looks, judges)
        with clock.stage("look for originals"):
            release = read_release(pairs, judges, cache, options.workers or cores())
            bare = exposed(named.looks, judges)
            shown = shown_originals(release, named.looks, judges, cache, bare)
        if options.method is not None and options.attacker_faces is not None:
            with clock.stage("train the attacker"):
                maps = learn_maps(options.method, options.attacker_faces, judges, cache)
    finally:
        cache.close()
    return named.looks, named.told_by_recognizers, maps, release, shown


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
        pairs, judges, cache, restored=options.restoration,
        measure=Utility(options.inception) if options.utility else None, progress=step, workers=options.workers,
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
    rows = rows_of_faces(read_table(options.clusters, ("photo", "cluster")), looks)
    names = [row["cluster"] if row is not None else None for row in rows]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(filter(None, names)))}
    return Groups(np.array([numbers.get(name, -1) if name else -1 for name in names], np.intp))


def _describe(attacker: Attacker) -> dict[str, object]:
    return {
        "id": attacker.id, "name": attacker.name, "used_by_method": attacker.used_by_method,
        "threshold": attacker.recognizer.threshold, "sha256": attacker.sha256,
    }  # fmt: skip


def _counts(pairs: Pairs, looks: Looks, release: Release) -> dict[str, Any]:
    """What was there, and what of it could not be looked at."""
    photos = looks.main.looks
    released = sum(pair.anonymised is not None for pair in pairs.pairs)
    return {
        "photos": len(pairs.pairs), "people": len(looks.pairs.people),
        "released": released, "withheld": len(pairs.pairs) - released, "unpaired": pairs.unpaired,
        "unreadable": [*release.unreadable, *(f"{name} cannot be opened" for name in pairs.closed)],
        "unreadable_originals": release.unreadable_originals,
        "uncompared": [
            pair.name for pair in pairs.pairs if pair.anonymised and release.originals[pair.original].problem
        ],
         "other_files": pairs.other_files,
        "faces": sum(look.original is not None for look in looks.looks),
        "small_faces": len(looks.small.looks) if looks.small else 0,
        "not_found_in_original": sum(look.original is None for look in photos),
        "several_faces": sum(look.faces > 1 for look in photos),
    }  # fmt: skip


def _parameters(looks: Looks, options: Options, *, trained: bool) -> dict[str, Any]:
    undone = [look.undone for look in looks.looks]
    found: dict[str, Any] = {
        "subjects": options.subjects, "detector": "yunet.2023mar", "trained": trained,
        "restored": {kind: undone.count(kind) for kind in ("blur", "pixelation")},
    }  # fmt: skip
    if options.inception is not None:
        with options.inception.open("rb") as file:
            found["inception_sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
