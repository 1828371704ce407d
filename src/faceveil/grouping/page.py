"""One HTML page about a partition: no network, light and dark, readable on paper."""

from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

from faceveil.grouping.arrays import as_vectors
from faceveil.grouping.dendrogram import dendrogram
from faceveil.grouping.measures import squared_distances_to_means
from faceveil.grouping.partition import Partition
from faceveil.grouping.summary import Summary

LISTED = 200  # groups in the table

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --line: #d5dae0; --paper: #fff; --bar:
#3b6ea5 } @media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --soft: #a3acb6; --line: #3a424b; --paper: #14171a; --bar: #7fb2e5 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1.5rem; max-width: 64rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem; margin: 0 0 .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p { max-width: 46rem } .soft { color: var(--soft) }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem 1.5rem; margin:
1rem 0 } dt { color: var(--soft); font-size: .85rem } dd { margin: 0; font-size: 1.15rem;
font-variant-numeric: tabular-nums } table { border-collapse: collapse; width: 100%; font-variant-numeric:
tabular-nums } th, td { text-align: right; padding: .25rem .5rem; border-bottom: 1px solid var(--line) }
th:first-child, td:first-child { text-align: left }
figure { margin: 0; overflow-x: auto } svg { width: 100%; height: auto; min-width: 30rem } rect { fill:
var(--bar) } @media print { body { max-width: none; padding: 0; font-size: 11pt } h2 { break-after: avoid }
  tr, figure { break-inside: avoid } figure { overflow: visible } svg { min-width: 0 } }
"""


def page(X: ArrayLike, partition: Partition, summary: Summary) -> str:
    """The whole page as text."""
    vectors = as_vectors(X)
    distances = np.full(len(vectors), np.nan)
    released = partition.labels >= 0
    distances[released] = np.sqrt(squared_distances_to_means(vectors[released], partition.labels[released]))
    title = f"{summary.rows:,} vectors in {summary.groups:,} groups of at least {summary.k} people"
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="soft">Grouped by <b>{escape(summary.grouper)}</b> in {summary.seconds:.2f} s.'
        " Every group holds at least k different people; no row is in two groups.</p>",
        _figures(summary),
        _criteria(summary),
        "<h2>How far each row is from its group’s mean</h2>",
        f"<figure>{_histogram(distances[released])}</figure>",
        '<h2>Dendrogram</h2><p class="soft">Strong branches lie inside one group. The dashed lines bound a'
        " good k: below the first, half of the leaves have company; below the second, nine in ten.</p>",
        f"<figure>{dendrogram(vectors, partition)}</figure>",
        "<h2>Groups</h2>",
        _table(partition, distances),
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _figures(summary: Summary) -> str:
    silhouette = "not measured" if summary.silhouette is None else f"{summary.silhouette:.4f}"
    figures = {
        "information loss": f"{summary.information_loss:.4f}",
        "pair-wise, mean": f"{summary.pairwise_mean:.4f}",
        "pair-wise, min and max": f"{summary.pairwise_min:.4f} – {summary.pairwise_max:.4f}",
        "silhouette": silhouette,
        "people": f"{summary.people:,}",
        "people in a group": f"{summary.smallest} – {summary.largest}",
        "suppressed rows": f"{summary.suppressed:,}",
        "length of a vector": f"{summary.dimensions:,}",
    }
    return "<dl>" + "".join(f"<div><dt>{k}</dt><dd>{v}</dd></div>" for k, v in figures.items()) + "</dl>"


def _criteria(summary: Summary) -> str:
    lines = [*summary.criteria, *([summary.price] if summary.price else [])]
    if not lines:
        return ""
    return "<h2>Criteria</h2><ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _histogram(distances: NDArray[np.float64], bars: int = 40) -> str:
    if not len(distances):
        return ""
    counts, edges = np.histogram(distances, bars)
    width = 960 / bars
    drawn = "".join(
        f'<rect x="{i * width + 1:.1f}" y="{160 - 150 * c / counts.max():.1f}" width="{width - 2:.1f}"'
        f' height="{150 * c / counts.max():.1f}"><title>{edges[i]:.3g}–{edges[i + 1]:.3g}: {c}</title></rect>'
        for i, c in enumerate(counts)
    )
    axis = "".join(
        f'<text x="{x}" y="178" text-anchor="{anchor}" font-size="13" fill="currentColor">{value:.3g}</text>'
        for x, anchor, value in (
            (0, "start", edges[0]),
            (480, "middle", (edges[0] + edges[-1]) / 2),
            (960, "end", edges[-1]),
        )
    )
    label = "Histogram of the distances to the group means"
    return f'<svg viewBox="0 0 960 184" role="img" aria-label="{label}">{drawn}{axis}</svg>'


def _table(partition: Partition, distances: NDArray[np.float64]) -> str:
    worst = np.argsort([-distances[rows].mean() for rows in partition.groups], kind="stable")[:LISTED]
    rows = "".join(
        f"<tr><td>{g}</td><td>{partition.people[g]}</td><td>{partition.sizes[g]}</td>"
        f"<td>{distances[partition.groups[g]].mean():.4f}</td>"
        f"<td>{distances[partition.groups[g]].max():.4f}</td></tr>"
        for g in worst
    )
    more = f'<p class="soft">The {LISTED} groups that lose most, of {len(partition):,}.</p>'
    head = "<tr><th>group</th><th>people</th><th>rows</th><th>mean distance</th><th>largest</th></tr>"
    note = more if len(partition) > LISTED else ""
    return f"{note}<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
