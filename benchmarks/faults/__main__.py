"""The command: attempt faults, print and write the tables. A campaign that was cut off goes on with its log."""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import benchmarks.faults
from benchmarks.faults.campaign import Campaign, Tried
from benchmarks.faults.cases import cards_of
from benchmarks.faults.fault import fault, sample
from benchmarks.faults.judge import CARDS, judge
from benchmarks.faults.process import import_all
from benchmarks.faults.table import tables

from faceveil.models.store import Store


def main(arguments: list[str] | None = None) -> int:
    """0 if nothing was found, 1 if a check failed."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that disks are unmounted
    numbers = _numbers(options)
    known = {one.number: one for one in _logged(options.log, options.seed)} if options.only is None else {}
    missing = [] if options.report else [number for number in numbers if number not in known]
    with tempfile.TemporaryDirectory(prefix="faults-") as work:
        log = options.log or Path(work) / "log.jsonl"
        if missing:
            _attempt_all(missing, options.seed, options.workers, Path(work), log, options.only is not None)
            known |= {one.number: one for one in _logged(log, options.seed)}
    tried = [known[number] for number in numbers if number in known]
    print(tables(tried))
    if options.json:
        options.json.write_text(json.dumps(_record(tried, options), indent=1) + "\n", encoding="utf-8")
    return int(len(tried) < len(numbers) or any(one.problems for one in tried))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(benchmarks.faults.__doc__).splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the fault of this number alone")
    parser.add_argument("--sample", action="store_true", help="so many cheap faults, each kind among them")
    parser.add_argument("--report", action="store_true", help="attempt nothing: tables of what the log holds")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--log", type=Path, help="one line per fault; what is in it is not attempted again")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


def _numbers(options: argparse.Namespace) -> list[int]:
    if options.only is not None:
        return [options.only]
    return sample(options.seed, options.count) if options.sample else list(range(options.count))


def _attempt_all(numbers: list[int], seed: int, workers: int, work: Path, log: Path, loud: bool) -> None:
    """Each worker takes every so many faults, and has a judge of its own."""
    cases = sorted({fault(seed, number).case for number in numbers})
    Store().pull([*CARDS, *(card for case in cases for card in cards_of(case))])
    import_all()
    log.parent.mkdir(parents=True, exist_ok=True)
    shares = [numbers[first::workers] for first in range(workers)]
    context = get_context("fork")
    helpers = [context.Process(target=_attempt, args=(share, seed, work, log, loud)) for share in shares[1:]]
    for helper in helpers:
        helper.start()
    try:
        _attempt(shares[0], seed, work, log, loud)
        for helper in helpers:
            helper.join()
    finally:
        for helper in helpers:
            helper.terminate()
            helper.join()


def _attempt(numbers: Iterable[int], seed: int, work: Path, log: Path, loud: bool) -> None:
    with judge() as asked, log.open("a", encoding="utf-8", buffering=1) as file:
        campaign = Campaign(work, Store().home, asked)
        for number in numbers:
            tried = campaign.attempt(fault(seed, number))
            file.write(json.dumps({"seed": seed, **asdict(tried)}) + "\n")
            if tried.problems or loud:
                print(tried, file=sys.stderr, flush=True)


def _logged(log: Path | None, seed: int) -> list[Tried]:
    lines = log.read_text(encoding="utf-8").splitlines() if log and log.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    return [
        Tried(
            **{name: value for name, value in row.items() if name != "seed"}
            | {"problems": tuple(row["problems"])}
        )
        for row in rows
        if row["seed"] == seed
    ]


def _record(tried: list[Tried], options: argparse.Namespace) -> dict[str, object]:
    """What the page is made of: the counts, and every fault at which a check failed."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    counts: dict[str, int] = {}
    for one in tried:
        key = f"{one.kind} / {one.case} / {one.engine} / {one.outcome}"
        counts[key] = counts.get(key, 0) + 1
    return {
        "seed": options.seed,
        "faults": len(tried),
        "resumed": sum(one.resumed for one in tried),
        "seconds": round(sum(one.seconds for one in tried), 1),
        "commit": commit.stdout.strip(),
        "failed": [asdict(one) for one in tried if one.problems],
        "counts": dict(sorted(counts.items())),
    }


if __name__ == "__main__":
    sys.exit(main())
