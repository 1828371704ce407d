"""faceveil against deface 1.5.0, on the same photos in one run: photos per second, recall, false boxes.

    python benchmarks/filters.py [--photos 100] [--scenes 40] [--first 0] [--repeats 3] [-o results.json]

deface is installed from the package index into an environment of its own and run as its users run it (CPU, default
blur). Both programs are judged by what they wrote: a face counts as found if most of its middle changed, and a
changed patch that touches no face is a false box. Scenes are lossless for that; speed is measured on JPEGs. Time is
given by the clock and as processor time of all threads, which other work on the machine disturbs less.

Every program runs on all photos and on a tenth of them. The difference is what further photos cost, and what is left
of a run then is its start and end. faceveil has run before, so its networks are prepared.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import cv2
import numpy as np
from scenes import Truth, cut_out_faces, make_scene

from faceveil import __version__
from faceveil.photos import Photo, read_photo, write_photo

HERE = Path(__file__).parent
SIZES = {"1.0 MP": (1224, 816), "1.8 MP": (1640, 1096)}
Seconds = tuple[float, float]  # by the clock, and of processors
BANDS = [(0, 16), (16, 24), (24, 48), (48, 150), (150, 10_000)]  # px of face width


def deface_command() -> list[str]:
    """deface in its own environment, made on first use."""
    home = HERE / ".deface"
    program = home / "bin" / "deface"
    if not program.exists():
        venv.create(home, with_pip=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", "deface==1.5.0"], check=True)
    return [str(program)]


def timed(command: list[str], **options: dict[str, str]) -> Seconds:
    """What a command takes, with all its threads."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, used


def run_deface(photos: Path, out: Path) -> Seconds:
    """Seconds for the whole folder. deface writes beside its input, so it works on a copy."""
    shutil.copytree(photos, out)
    files = [str(path) for path in sorted(out.iterdir())]
    seconds = timed([*deface_command(), *files])
    for path in sorted(out.iterdir()):
        if path.stem.endswith("_anonymized"):
            path.replace(out / f"{path.stem.removesuffix('_anonymized')}{path.suffix}")
    return seconds


def run_faceveil(photos: Path, out: Path, *options: str) -> Seconds:
    """Seconds for the whole folder, with compiled modules as an installed package has them."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(HERE / ".deface" / "faceveil-modules")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [
        sys.executable,
        "-m",
        "faceveil",
        "anonymize",
        str(photos),
        "-o",
        str(out),
        "--method",
        "blur",
        *options,
    ]
    return timed(command, env=environment)


TOOLS = {
    "deface": run_deface,
    "faceveil": run_faceveil,
    "faceveil --thorough": lambda photos, out: run_faceveil(photos, out, "--thorough"),
}


def measure_speed(scratch: Path, faces: list, photos: int, repeats: int) -> dict:
    results: dict = {}
    for label, (width, height) in SIZES.items():
        folders = {count: scratch / f"speed-{width}-{count}" for count in (tenth(photos), photos)}
        for count, folder in folders.items():
            folder.mkdir()
            for seed in range(count):
                image, _ = make_scene(10_000 + seed, faces, width, height)
                write_photo(Photo(image, format="JPEG"), folder / f"{seed:03}.jpg")
        seconds: dict = {tool: {count: [] for count in folders} for tool in TOOLS}
        run_faceveil(folders[photos], scratch / f"warm-{width}")
        for repeat in range(repeats):  # the tools take turns, so that a busy moment hits all alike
            for tool, run in TOOLS.items():
                for count, folder in folders.items():
                    out = scratch / f"out-{width}-{count}-{repeat}-{tool.replace(' ', '')}"
                    seconds[tool][count].append(run(folder, out))
        results[label] = {tool: summed_up(taken, seconds["deface"]) for tool, taken in seconds.items()}
    return results


def tenth(photos: int) -> int:
    """How many photos a short run has."""
    return max(1, photos // 10)


def summed_up(taken: dict[int, list[Seconds]], deface: dict[int, list[Seconds]]) -> dict:
    """Medians, each by the clock and in processor time: a whole run, a further photo, and a run's start and end."""
    whole, further, start = costs(taken)
    whole_deface, further_deface, start_deface = costs(deface)
    return {
        "seconds": {str(count): np.round(values, 2).tolist() for count, values in taken.items()},
        "photos_per_second": round(float(max(taken) / whole[0]), 2),
        "ms_a_photo": np.round(1000 * whole / max(taken), 1).tolist(),
        "ms_a_further_photo": np.round(1000 * further, 1).tolist(),
        "start_seconds": np.round(start, 2).tolist(),
        "times_deface": np.round(whole_deface / whole, 2).tolist(),
        "times_deface_further": np.round(further_deface / further, 2).tolist(),
        "times_deface_start": np.round(start_deface / start, 2).tolist(),
    }


def costs(taken: dict[int, list[Seconds]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a long run, of a further photo, and of what a run takes besides its photos."""
    (few, short), (many, long) = ((count, np.median(taken[count], axis=0)) for count in sorted(taken))
    further = (long - short) / (many - few)
    return long, further, short - few * further


def measure_recall(scratch: Path, faces: list, scenes: int, first: int) -> dict:
    return {label: recall_at(size, scratch, faces, scenes, first) for label, size in SIZES.items()}


def recall_at(size_wh: tuple[int, int], scratch: Path, faces: list, scenes: int, first: int) -> dict:
    folder, truths = scratch / f"recall-{size_wh[0]}", {}
    folder.mkdir()
    for seed in range(first, first + scenes):
        image, truths[f"{seed:03}.png"] = make_scene(seed, faces, *size_wh)
        write_photo(Photo(image, format="PNG"), folder / f"{seed:03}.png")
    results = {}
    for tool, run in TOOLS.items():
        out = scratch / f"recall-{size_wh[0]}-{tool.replace(' ', '')}"
        run(folder, out)
        hits, false_boxes = [], 0
        for name, truth in truths.items():
            changed = changed_pixels(folder / name, out / name)
            hits += [(face, bool(changed[face.inner(changed.shape)].mean() > 0.5)) for face in truth]
            false_boxes += count_false_boxes(changed, truth)
        results[tool] = {
            "faces": len(hits),
            "recall": round(float(np.mean([hit for _, hit in hits])), 4),
            "false_boxes": false_boxes,
            "recall_by_width": {f"{low}-{high}": share(hits, low, high) for low, high in BANDS},
            "recall_tilted_over_30": round(float(np.mean([h for f, h in hits if abs(f.tilt) > 30])), 3),
        }
    return results


def share(hits: list[tuple[Truth, bool]], low: float, high: float) -> float:
    chosen = [hit for face, hit in hits if low <= face.width < high]
    return round(float(np.mean(chosen)), 3) if chosen else float("nan")


def changed_pixels(before: Path, after: Path) -> np.ndarray:
    return (read_photo(before).pixels != read_photo(after).pixels).any(axis=2)


def count_false_boxes(changed: np.ndarray, truth: list[Truth]) -> int:
    """Patches of change whose middle lies in no face (half again as large, for generous boxes)."""
    closed = cv2.morphologyEx(changed.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))
    count, _, stats, centres = cv2.connectedComponentsWithStats(closed)
    patches = [centres[i] for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= 30]
    return sum(
        all(np.hypot((x - face.x) / face.width, (y - face.y) / face.height) > 0.75 for face in truth)
        for x, y in patches
    )


def print_tables(results: dict) -> None:
    for label, tools in results["speed"].items():
        print(f"\n{label}, each by the clock / in processor time\n")
        print(
            "| tool | photos/s | ms a photo | times deface | ms a further photo | times deface | start, s |"
        )
        print("| --- " * 7 + "|")
        for tool, row in tools.items():
            names = (
                "ms_a_photo",
                "times_deface",
                "ms_a_further_photo",
                "times_deface_further",
                "start_seconds",
            )
            values = " | ".join(" / ".join(map(str, row[name])) for name in names)
            print(f"| {tool} | {row['photos_per_second']} | {values} |")
    bands = [f"{low}-{high}" for low, high in BANDS]
    print(f"\n| photos | tool | faces | recall | false boxes | {' px | '.join(bands)} px | tilted over 30° |")
    print("| --- " * (6 + len(bands)) + "|")
    for label, tools in results["recall"].items():
        for tool, row in tools.items():
            widths = " | ".join(f"{row['recall_by_width'][band]:.2f}" for band in bands)
            whole = f"{row['faces']} | {row['recall']:.3f} | {row['false_boxes']}"
            print(f"| {label} | {tool} | {whole} | {widths} | {row['recall_tilted_over_30']:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=100)
    parser.add_argument("--scenes", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first scene")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=Path("filters.json"))
    options = parser.parse_args()
    deface_command()
    with tempfile.TemporaryDirectory() as folder:
        scratch, faces = Path(folder), cut_out_faces()
        results = {
            "faceveil": __version__,
            "machine": f"{platform.machine()}, Python {platform.python_version()}",
            "face_pictures": len(faces),
            "photos": options.photos,
            "speed": measure_speed(scratch, faces, options.photos, options.repeats),
            "recall": measure_recall(scratch, faces, options.scenes, options.first),
        }
    options.output.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print_tables(results)


if __name__ == "__main__":
    main()
