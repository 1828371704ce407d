"""What `faceveil anonymize` prints: the plan of a dry run, and the summary of a finished one."""

import json
import sys
from typing import TYPE_CHECKING

from faceveil.cli.render import painted

if TYPE_CHECKING:
    from faceveil.pipeline import Plan, Settings, Summary


def print_plan(plan: "Plan", settings: "Settings", as_json: bool) -> None:
    """Which file would become which."""
    from faceveil.photos import shown

    crops = settings.release == "crops"
    pairs = [
        {"photo": str(job.source), "output": str(plan.output if crops else job.target)} for job in plan.jobs
    ]
    skipped = [{"file": str(file.path), "reason": file.reason} for file in plan.skipped]
    if as_json:
        print(json.dumps({"would_do": settings.describe(), "photos": pairs, "skipped": skipped}, indent=2))
        return
    for pair in pairs:
        print(shown(f"{pair['photo']} -> {pair['output']}"))
    for file in skipped:
        print(shown(f"{file['file']} skipped: {file['reason']}"))
    print(f"{len(pairs)} photos would be protected with {settings.method.id}; nothing was written.")


def print_summary(summary: "Summary", as_json: bool) -> None:
    """What became of the photos, and what the result may claim."""
    from faceveil.photos import shown

    sources = {job.name: str(job.source) for job in summary.plan.jobs}
    quarantined = [{"file": sources[o.name], "reason": o.reason} for o in summary.quarantined]
    skipped = [{"file": str(file.path), "reason": file.reason} for file in summary.plan.skipped]
    notes = [{"file": sources[o.name], "note": note} for o in summary.outcomes for note in o.notes]
    if as_json:
        print(json.dumps({
            "output": str(summary.plan.output), "manifest": str(summary.plan.manifest),
            **summary.settings.describe(), "guarantee": summary.guarantee,
            "not_covered": list(summary.not_covered), "counts": summary.counts(), **_of_a_set(summary),
            "quarantined": quarantined, "skipped": skipped, "notes": notes, "seconds": round(summary.seconds, 3),
        }, indent=2))  # fmt: skip
        return
    for entry in quarantined:
        _say("quarantined", "red", f"{entry['file']}: {entry['reason']}")
    for entry in notes:
        _say("note", "yellow", f"{entry['file']}: {entry['note']}")
    for unseen in summary.plan.unseen:
        _say("not searched", "red", f"{unseen.path}: {unseen.reason}")
    _print_counts(summary)
    claimed = summary.settings.method.guarantee.kind != "none" and summary.counts()["faces"]
    print(painted(summary.guarantee, "green" if claimed else "yellow", sys.stdout))
    if summary.result is not None:
        print(f"Not covered: {', '.join(summary.not_covered)}.")
    if summary.result is not None and summary.result.record.k is not None:
        limit, usual = summary.settings.max_pixels, summary.settings.__class__.max_pixels
        more = f" --max-megapixels {limit // 1_000_000}" if limit > usual else ""
        print(shown(f"Check it with: faceveil verify {summary.plan.output}{more}"))


def _say(kind: str, colour: str, about: str) -> None:
    from faceveil.photos import shown

    print(f"{painted(f'{kind}:', colour, sys.stderr)} {shown(about)}", file=sys.stderr)


def _print_counts(summary: "Summary") -> None:
    from faceveil.photos import shown

    counts = summary.counts()
    print(
        f"{counts['faces']} faces in {counts['protected']} photos protected with {summary.settings.method.id}, "
        f"{counts['without_a_face']} photos without a face, {counts['quarantined']} quarantined, "
        f"{counts['skipped_files']} other files skipped: {shown(summary.plan.output)}"
    )
    if summary.result is None:
        return
    sizes = [size.people for size in summary.result.record.groups.values()]
    between = f" of {min(sizes)} to {max(sizes)}" if sizes else ""
    left = [
        f"; {counts[f'faces_{how}']} faces {how}" for how in ("withheld", "covered") if counts[f"faces_{how}"]
    ]
    withheld = "".join(left)
    if "neighbours" in summary.settings.method.parameters:
        print(
            f"{counts['people']} people, each with neighbours of their own from a gallery: no groups{withheld}."
        )
    else:
        print(f"{counts['people']} people, {counts['groups']} groups{between}{withheld}.")
    for note in summary.result.notes:
        print(shown(f"note: {note}"), file=sys.stderr)


def _of_a_set(summary: "Summary") -> dict[str, object]:
    if summary.result is None:
        return {}
    return {
        "k": summary.result.record.k,
        "group_sizes": sorted(size.people for size in summary.result.record.groups.values()),
        "figures": summary.result.figures,
        "method_notes": list(summary.result.notes),
    }
