"""Would the tests notice? Mutants of the code by Cosmic Ray, and the tests that should kill them.

    pip install cosmic-ray
    python -m benchmarks.mutation [--rooms privacy grouping pipeline methods] [--each 6] [--seed 1] [--json FILE]
                                  [--show FILE] [--minutes 60]

The project is copied to a temporary folder, and only the copy is changed. Of every file in `TESTS` some places are
drawn by a hash of the seed and the place, so that the sample is the same on every machine, and at each of them one
of the operators that apply. A mutant is killed when the tests of its file fail, or take SLOW times as long as on
unchanged code. Equivalent mutants, which no test can kill, count as survivors. Left out: StyleID, whose
tuned numbers no paper names; modules that numba compiles, since its cache does not see a change in another module;
operators on `|`, which stands in annotations and would always fail at import. Files take turns, so that a run that
is cut off by --minutes has seen a little of each.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "training", "benchmarks", "examples", "docs", "pyproject.toml", "README.md")
SLOW, LEAST = 4, 60  # times the time of unchanged code; seconds
LAW = "tests/grouping/test_law.py tests/grouping/test_papers.py -k 'mdav or refused or row or even'"
VERIFY = "tests/privacy/test_verify.py -k 'not command and not compressed'"
SET_RUN = "tests/pipeline/test_set_run.py"
# What pytest is given for a file.
TESTS = {
    "methods/ksame.py": "tests/methods/test_ksame.py tests/methods/test_sets.py -k 'same or partial or gallery'",
    "methods/miku.py": "tests/methods/test_miku.py tests/methods/test_sets.py -k 'miku or refused or options'",
    "methods/sets.py": "tests/methods/test_ksame.py tests/methods/test_sets.py -k 'same or fewer or sharp'",
    "methods/anonfaces.py": "tests/methods/test_anonfaces.py",
    "methods/strangers.py": "tests/methods/test_sets.py -k 'stranger or nobody or worn'",
    "methods/likeness.py": "tests/methods/test_sets.py -k alike",
    "methods/filters.py": "tests/methods/test_filters.py",
    "methods/company.py": "tests/pipeline/test_company.py -k 'apart or near or dealt'",
    "privacy/criteria.py": "tests/privacy/test_criteria.py",
    "privacy/guarantee.py": "tests/privacy/test_guarantee.py",
    "privacy/record.py": VERIFY,
    "privacy/recount.py": "tests/pipeline/test_promises.py -k counted",
    "privacy/risk.py": "tests/privacy/test_risk.py",
    "privacy/same_face.py": "tests/pipeline/test_promises.py -k 'cell or coarse or cut_out'",
    "privacy/verify.py": VERIFY,
    "pipeline/decide.py": f"tests/pipeline/test_promises.py {SET_RUN} -k 'promises or withdrawing or breaks_its'",
    "pipeline/exchange.py": "tests/pipeline/test_promises.py -k profiles",
    "pipeline/plan.py": "tests/pipeline/test_plan.py",
    "pipeline/regroup.py": f"{SET_RUN} -k 'whose_group or take_its_group or falls_below'",
    "pipeline/subjects.py": "tests/pipeline/test_subjects.py",
    "grouping/arrays.py": LAW,
    "grouping/dendrogram.py": "tests/grouping/test_beyond.py tests/grouping/test_papers.py -k 'dendrogram or tree'",
    "grouping/enforce.py": "tests/privacy/test_criteria.py",
    "grouping/grouper.py": LAW,
    "grouping/hierarchical.py": "tests/grouping/test_oracles.py -k 'hierarchical_is_the'",
    "grouping/incremental.py": "tests/grouping/test_beyond.py",
    "grouping/kmember.py": "tests/grouping/test_law.py tests/grouping/test_papers.py -k kmember",
    "grouping/ksame.py": "tests/grouping/test_law.py tests/grouping/test_papers.py -k ksame",
    "grouping/max_dist.py": "tests/grouping/test_law.py tests/grouping/test_papers.py -k 'max-dist or max_dist'",
    "grouping/mdav.py": "tests/grouping/test_oracles.py -k mdav",
    "grouping/measures.py": "tests/grouping/test_measures.py",
    "grouping/mondrian.py": "tests/grouping/test_oracles.py tests/grouping/test_papers.py -k mondrian",
    "grouping/oka.py": "tests/grouping/test_law.py tests/grouping/test_papers.py -k oka",
    "grouping/partition.py": f"tests/grouping/test_measures.py {LAW[:-1]} or suppressed or gaps or measures'",
    "grouping/same_size_kmeans.py": "tests/grouping/test_law.py -k same-size-kmeans",
    "grouping/subjects.py": LAW,
    "grouping/tables.py": "tests/grouping/test_beyond.py tests/grouping/test_command.py",
    "grouping/v_mdav.py": "tests/grouping/test_law.py tests/grouping/test_papers.py -k 'v-mdav or v_mdav'",
}


@dataclass(frozen=True)
class Tried:
    """One mutant and what became of it."""

    file: str
    line: int
    where: str  # the function
    operator: str
    outcome: str  # killed, timeout, survived
    diff: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rooms", nargs="*", default=["privacy", "grouping", "pipeline", "methods"])
    parser.add_argument("--each", type=int, default=6, help="places of a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="no mutant is begun later")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=Path, help="write the survivors' diffs to this file")
    options = parser.parse_args()
    show, kept = (path and path.resolve() for path in (options.show, options.json))
    end = time.monotonic() + 60 * options.minutes
    files = [file for room in options.rooms for file in TESTS if file.startswith(f"{room}/")]
    limits: dict[str, float] = {}
    tried: list[Tried] = []
    with tempfile.TemporaryDirectory() as folder:
        enter(Path(folder))
        chosen: dict[str, list] = {}
        for turn, file in product(range(options.each), files):
            if time.monotonic() > end:
                break
            if file not in chosen:
                chosen[file] = sample(file, options.each, options.seed)
                limits[file] = max(LEAST, SLOW * unchanged(file))
            if turn >= len(chosen[file]):
                continue
            tried.append(attempt(file, chosen[file][turn], limits[file]))
            print(f"{tried[-1].outcome:9} {file}:{tried[-1].line} {tried[-1].operator}", flush=True)
            save(tried, kept, show)
        os.chdir(ROOT)
    print(table(tried))


def save(tried: list[Tried], kept: Path | None, show: Path | None) -> None:
    """After every mutant, so that a run may be stopped."""
    if kept:
        rows = [{name: value for name, value in asdict(one).items() if name != "diff"} for one in tried]
        kept.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if show:
        left = [one.diff for one in tried if one.outcome == "survived"]
        show.write_text("\n\n".join(left) + "\n", encoding="utf-8")


def enter(folder: Path) -> None:
    """Go to a copy of the project in which tests find the copy's code, and the data of the original."""
    for name in COPIED:
        here = ROOT / name
        if here.is_dir():
            shutil.copytree(here, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".deface"))
        else:
            shutil.copy(here, folder / name)
    os.environ.setdefault("FACEVEIL_DATA", str(ROOT.parent / "shared" / "data"))
    os.environ["PYTHONPATH"] = str(folder / "src")
    os.chdir(folder)


def sample(file: str, count: int, seed: int) -> list:
    """Mutations of a file: places in an order that the seed alone decides, one operator at each."""
    from cosmic_ray.commands.init import init
    from cosmic_ray.work_db import WorkDB

    database = WorkDB("work.sqlite", WorkDB.Mode.create)
    init([source(file)], database, {})
    places = defaultdict(list)
    for item in database.work_items:
        (mutation,) = item.mutations
        if "BitOr" not in mutation.operator_name:
            places[mutation.start_pos].append(mutation)
    database.close()

    def drawn(*words: object) -> str:
        return hashlib.sha256(" ".join(map(str, (seed, file, *words))).encode()).hexdigest()

    order = sorted(places, key=drawn)[:count]
    return [min(places[at], key=lambda one: drawn(at, one.operator_name, one.occurrence)) for at in order]


def source(file: str) -> Path:
    return Path("src", "faceveil", file)


def command(file: str) -> str:
    return f"{sys.executable} -m pytest -x -q -p no:cacheprovider --hypothesis-seed=0 {TESTS[file]}"


def unchanged(file: str) -> float:
    """How long the tests of a file take on the code as it is, seconds by the clock; they must pass."""
    from cosmic_ray.testing import run_tests

    start = time.monotonic()
    outcome, output = run_tests(command(file), 3600)
    if outcome.value != "survived":
        raise SystemExit(f"the tests of {file} fail on unchanged code:\n{output[-3000:]}")
    return time.monotonic() - start


def attempt(file: str, mutation: Any, limit: float) -> Tried:
    from cosmic_ray.mutating import mutate_and_test

    result = mutate_and_test([mutation], command(file), limit)
    outcome = "timeout" if result.output == "timeout" else result.test_outcome.value
    operator = mutation.operator_name.removeprefix("core/")
    return Tried(file, mutation.start_pos[0], mutation.definition_name or "", operator, outcome, result.diff)


def table(tried: list[Tried]) -> str:
    """The score by room."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for one in tried:
        rooms[one.file.split("/")[0]][one.outcome] += 1
        rooms["all"][one.outcome] += 1
    lines = [
        "| room | mutants | killed | of them by time | survived | score |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for room in sorted(rooms, key=lambda name: (name == "all", name)):
        found = rooms[room]
        dead = found.total() - found["survived"]
        cells = [
            found.total(),
            dead,
            found["timeout"],
            found["survived"],
            f"{100 * dead / found.total():.0f} %",
        ]
        lines.append(f"| {room} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
