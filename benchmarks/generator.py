"""What a face costs at each size: python benchmarks/generator.py [--runs 7]

CPU milliseconds on one thread (the least of several interleaved runs, so that a busy machine disturbs
little), the ratio to the graph as it is distributed, the overhead of `Generator.render_each` over the bare
network, and the PSNR of each exit against the full render averaged down, on codes that were not fitted. Then the same
in bf16, with the PSNR of its bytes against those of f32; a processor without bf16 takes as long and gives the same.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from faceveil.models.generator import CARD, Generator, as_wplus, synthesis
from faceveil.models.mobilestylegan import SIZES
from faceveil.models.runtime import Network, load
from faceveil.models.synthesis import build_graph


def cpu_ms(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return 1000 * (time.process_time() - start)


def mean_psnr(size: int, wplus: np.ndarray, full: np.ndarray) -> float:
    step = full.shape[-1] // size
    truth = full.reshape(len(full), 3, size, step, size, step).mean(axis=(3, 5)).clip(-1, 1)
    network = Network(build_graph(synthesis(size)))
    errors = [
        np.mean((network(code[None])[0][0].clip(-1, 1) - image) ** 2)
        for code, image in zip(wplus, truth, strict=True)
    ]
    return float(np.mean(10 * np.log10(4 / np.maximum(errors, 1e-12))))


def psnr_of_bytes(exact: Generator, short: Generator, wplus: np.ndarray, size: int) -> float:
    pairs = zip(exact.render_each(wplus, size), short.render_each(wplus, size), strict=True)
    errors = [np.mean((a.astype(np.float32) - b) ** 2) for a, b in pairs]
    return float(np.mean(10 * np.log10(255**2 / np.maximum(errors, 1e-12))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--faces", type=int, default=8)
    options = parser.parse_args()
    generator, short = Generator(), Generator(precision="bf16")
    w = generator.mapping(generator.sample_z(options.faces, np.random.default_rng(77)))
    w = generator.truncate(w, 0.8)
    wplus = as_wplus(w)
    shipped = load(CARD, member="SynthesisNetwork.xml")
    runs: dict[str, Callable[[], object]] = {"shipped": lambda: shipped(w[:1])}
    for size in SIZES:
        bare = generator.compiled(size).create_infer_request()
        runs[f"bare {size}"] = lambda bare=bare: bare.infer([wplus[:1]])
        shorter = short.compiled(size).create_infer_request()
        runs[f"bf16 {size}"] = lambda shorter=shorter: shorter.infer([wplus[:1]])
        runs[f"render {size}"] = lambda size=size: list(generator.render_each(wplus[:2], size))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(options.runs + 1):
        for name, run in runs.items():
            elapsed = cpu_ms(run)
            if turn:  # the first is warm-up
                times[name].append(elapsed)
    least = {name: min(values) for name, values in times.items()}
    full = np.concatenate([Network(build_graph(synthesis()))(code[None])[0] for code in wplus])
    print(f"the graph as distributed, 1024 px: {least['shipped']:.0f} ms")
    print(
        "size\tms\tof the distributed graph\toverhead of render_each\tPSNR, dB\tms in bf16\tPSNR to f32, dB"
    )
    for size in SIZES:
        bare_ms, render_ms = least[f"bare {size}"], least[f"render {size}"] / 2
        print(
            f"{size}\t{bare_ms:.0f}\t{bare_ms / least['shipped']:.2f}\t{render_ms / bare_ms - 1:+.1%}"
            f"\t{mean_psnr(size, wplus, full):.1f}"  # over 100 is exact
            f"\t{least[f'bf16 {size}']:.0f}\t{psnr_of_bytes(generator, short, wplus, size):.1f}"
        )


if __name__ == "__main__":
    main()
