"""Measure the groupers: python benchmarks/grouping.py [--only faces,…] [--json results.json]

Prints each figure and a table per section, and writes everything as JSON after each section, so that a run that
is cut short leaves what it measured. Every figure comes from this run, on this machine; seconds are wall clock
and processor time of one call after everything is compiled, memory is the highest resident size during the call
above that before it.

faces    every grouper on the 979 CelebA embeddings of the AnonFACES authors (in the folder FACEVEIL_DATA)
ten      10,000 × 128: best (three times, the median processor time) against hierarchical ward
relink   hierarchical against building the tree anew for every group, 5,000 × 128
large    200,000 × 128: best
growth   10,000 to 1,000,000 × 128 at k = 10
wplus    50,000 W+ vectors (18 × 512)
mdav     best against mdav: 50,000 × 128, and 200,000 × 128 at k = 50, where mdav takes least

Large data is made: each row lies between two embeddings of the file (60–100 % of the one), plus noise of half
their covariance, which makes 979 loose clusters; `cloud` is one Gaussian without any. --vectors file.npy
takes real ones for `ten`.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.grouping import GROUPERS, Partition, group

DATA = Path(os.environ.get("FACEVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
Row = dict[str, Any]


def faces() -> NDArray[np.float32]:
    return np.asarray(np.load(DATA / "anonfaces" / "celeba979_dlib.npz")["embeddings"])


def made(n: int, seed: int = 1) -> NDArray[np.float32]:
    """n embeddings that lie among the real ones."""
    real = faces()
    rng = np.random.default_rng(seed)
    width = real.shape[1]
    noise = np.linalg.cholesky(np.cov(real.T) + 1e-9 * np.eye(width)).astype(np.float32)
    rows = np.empty((n, width), dtype=np.float32)
    for start in range(0, n, 20_000):
        count = min(20_000, n - start)
        share = rng.uniform(0.6, 1.0, (count, 1)).astype(np.float32)
        one, other = (real[rng.integers(len(real), size=count)] for _ in range(2))
        scatter = rng.standard_normal((count, width), dtype=np.float32) @ noise.T
        rows[start : start + count] = share * one + (1 - share) * other + 0.5 * scatter
    return rows


def cloud(n: int, seed: int = 2) -> NDArray[np.float32]:
    """n vectors of one Gaussian cloud with the covariance of the real ones: no clusters at all."""
    real = faces()
    turn = np.linalg.cholesky(np.cov(real.T) + 1e-9 * np.eye(real.shape[1])).astype(np.float32)
    return np.random.default_rng(seed).standard_normal((n, real.shape[1]), dtype=np.float32) @ turn.T


def resident() -> int:
    """Bytes of memory this process holds now."""
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measured(call: Callable[[], Partition]) -> tuple[Partition, Row]:
    """The result, with seconds and memory."""
    before, peak, done = resident(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    done.set()
    watcher.join()
    return result, {
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "memory_mb": round(max(0, peak[0] - before) / 2**20),
    }


def one(X: NDArray[np.float32], k: int, grouper: str, **options: Any) -> Row:
    """One line of a table, printed as soon as it is known."""
    partition, cost = measured(lambda: group(X, k, grouper, seed=1, **options))
    loss = round(partition.information_loss(X), 4)
    row = {
        "n": len(X), "k": k, "grouper": grouper, "loss": loss,
        "groups": len(partition), "smallest": int(partition.sizes.min()), **cost,
    }  # fmt: skip
    print(row, flush=True)
    return row


def section_faces(_: argparse.Namespace) -> list[Row]:
    X, rows = faces(), []
    for k in (2, 5, 10, 20):
        for grouper in GROUPERS:
            partition, cost = measured(lambda k=k, g=grouper: group(X, k, g, seed=1))
            rows.append({
                "k": k, "grouper": grouper, "loss": round(partition.information_loss(X), 4),
                "pairwise_mean": round(partition.pairwise(X).mean, 4),
                "silhouette": round(partition.silhouette(X), 4),
                "groups": len(partition), "smallest": int(partition.sizes.min()), **cost,
            })  # fmt: skip
    return rows


def section_ten(arguments: argparse.Namespace) -> list[Row]:
    sets = {"cloud": cloud(10_000), "made": made(10_000)}
    if arguments.vectors:
        sets = {"real": np.load(arguments.vectors)[:10_000], **sets}
    return [against_ward(name, X, k) for name, X in sets.items() for k in (5, 10, 20, 50)]


def against_ward(name: str, X: NDArray[np.float32], k: int) -> Row:
    """Ward once, with best before it and twice after it: a machine's mood then touches both."""
    best, ward = one(X, k, "best"), one(X, k, "hierarchical")
    cpu = statistics.median([best["cpu_s"], *(one(X, k, "best")["cpu_s"] for _ in range(2))])
    return {
        "data": name, "k": k, "ward_loss": ward["loss"], "best_loss": best["loss"],
        "below_ward_percent": round(100 * (1 - best["loss"] / ward["loss"]), 2),
        "groups": best["groups"], "smallest": best["smallest"], "ward_cpu_s": ward["cpu_s"],
        "best_cpu_s": cpu, "share_of_ward_cpu": round(cpu / ward["cpu_s"], 3),
    }  # fmt: skip


def section_relink(_: argparse.Namespace) -> list[Row]:
    """Re-linking builds a tree per group, of what is left: every fifth is built and counts five times."""
    from scipy.cluster.hierarchy import linkage

    X, k = made(5_000), 20
    ours = one(X, k, "hierarchical")
    begin = time.process_time()
    for left in range(len(X), k, -5 * k):
        linkage(X[:left], "ward")
    relinking = 5 * (time.process_time() - begin)
    return [
        {**ours, "relinking_cpu_s": round(relinking, 1), "times_faster": round(relinking / ours["cpu_s"])}
    ]


def section_large(_: argparse.Namespace) -> list[Row]:
    X = made(200_000)
    return [one(X, k, "best") for k in (5, 10, 20, 50)]


def section_mdav(_: argparse.Namespace) -> list[Row]:
    cases = [(50_000, 50), (50_000, 20), (50_000, 10), (50_000, 5), (200_000, 50)]
    rows = []
    for n, k in cases:
        X = made(n)
        ours, theirs = one(X, k, "best"), one(X, k, "mdav")
        rows += [theirs, {**ours, "below_mdav_percent": round(100 * (1 - ours["loss"] / theirs["loss"]), 2)}]
    return rows


def section_growth(_: argparse.Namespace) -> list[Row]:
    rows = []
    for n in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        row = one(made(n), 10, "best")
        rows.append({**row, "cpu_us_per_row": round(1e6 * row["cpu_s"] / n)})
    return rows


def section_wplus(_: argparse.Namespace) -> list[Row]:
    path = DATA / "anonfaces" / "rafd67_stylegan_wplus.npz"
    real = np.load(path)["latents"].reshape(67, -1)
    rng = np.random.default_rng(1)
    X = np.empty((50_000, real.shape[1]), dtype=np.float32)
    for start in range(0, len(X), 2_000):
        mix = rng.dirichlet(np.full(67, 0.1), 2_000).astype(np.float32)
        X[start : start + 2_000] = mix @ real + 0.1 * rng.standard_normal(
            (2_000, real.shape[1]), dtype=np.float32
        )
    return [one(X, 10, "best"), one(X, 10, "mondrian"), one(X, 10, "mondrian", dimensions=64)]


SECTIONS = {
    "faces": section_faces,
    "ten": section_ten,
    "relink": section_relink,
    "large": section_large,
    "growth": section_growth,
    "wplus": section_wplus,
    "mdav": section_mdav,
}


def table(rows: list[Row]) -> str:
    """Rows as a Markdown table."""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    lines = [heads, ["---"] * len(heads), *([str(row.get(h, "")) for h in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine() -> Row:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit.stdout.strip(),
        "cores": len(os.sched_getaffinity(0)), "processor": model, "python": platform.python_version(),
        "load_at_start": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, by comma")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/grouping.json"))
    parser.add_argument("--vectors", type=Path, help="an .npy of real vectors for `ten`")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"machine": machine()}
    begin = time.perf_counter()
    for k in (2, 5):  # compile, so that no figure below holds it
        group(faces()[:100], k, seed=1)
        group(made(2500), k, seed=1, effort=0.1)
        group(faces()[:100], k, "hierarchical")
        group(faces()[:100], k, "mdav")
    results["machine"]["first_calls_s"] = round(time.perf_counter() - begin, 1)
    print(results["machine"], flush=True)
    for name in arguments.only.split(","):
        results[name] = SECTIONS[name](arguments)
        print(f"\n## {name}\n\n{table(results[name])}", flush=True)
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
