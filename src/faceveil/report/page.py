"""The page: verdict, attacks, curves, utility, groups, what is not covered, parameters. No network, no scripts."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from faceveil.evaluation.gate import Verdict
from faceveil.evaluation.intervals import Estimate, Rate
from faceveil.evaluation.results import AttackResult, Results
from faceveil.report.curves import Line, cmc, det, roc
from faceveil.report.held import held
from faceveil.report.parts import document, table

MOST_NAMES = 15

MEANING = {
    "naive": "released photos are looked up among the originals",
    "reverse": "originals are looked up among the released photos",
    "parrot": "released photos are looked up among other released photos",
    "restored": "blur and pixels are undone where possible, then released photos are looked up among the originals",
    "trained": "after training on the method's own output, released photos are looked up among the originals",
    "unprotected": "originals are looked up among other originals: what the recogniser can do",
}
TERMS = {
    "found": "people whose own name comes first, each person weighing the same",
    "mean rank": "where the own name stands in the list, on average",
    "EER": "equal error rate: the recogniser errs as often by taking strangers for one person as by missing people; "
    "50 is a guess",
    "AUC": "area under the curve: 1 tells people apart without error, 0.5 is a guess",
    "FMR, FNMR": "false match and false non-match rate at the recogniser's own threshold, of comparisons made",
    "FTA, FTE": "failure to acquire (no face in a photo that is looked up) and to enrol (in no photo of a person)",
}
UTILITY = (
    ("face_still_found", "a face is still found", "higher is more useful"),
    ("ssim_face", "SSIM of the face", "1 is equal"),
    ("ssim_photo", "SSIM of the photo", "1 is equal"),
    ("lpips_alexnet", "LPIPS (AlexNet) of the face", "0 is equal"),
    ("fid_inception", "FID (Inception) of the photos", "0 is equal"),
    ("fid_inception_faces", "FID (Inception) of the aligned faces", "0 is equal"),
    ("frechet_mobilenetv2", "Fréchet distance on MobileNetV2 features (not the Inception FID)", "0 is equal"),
    ("landmark_error_in_eye_distances", "five points moved by, in eye distances", "0 is in place"),
    ("pose_error_in_degrees", "pose error, degrees", "0 is kept"),
    ("age_error_in_years", "age error, years", "0 is kept"),
    ("gender_kept", "gender kept (as a classifier sees it)", "higher is more useful"),
    ("expression_kept", "expression kept", "higher is more useful"),
    ("expression_error_all", "mean error of 52 blendshapes, each from 0 to 1", "0 is kept"),
    ("expression_error_mouth", "of those of the mouth", "0 is kept"),
    ("expression_error_eyes", "of those of the lids", "0 is kept"),
    ("expression_error_gaze", "of those of the gaze", "0 is kept"),
    ("attribute_distance", "attribute distance (StyleID)", "0 is kept"),
)


@dataclass(frozen=True)
class Picture:
    """One pair as JPEG bytes."""

    name: str
    before: bytes
    after: bytes


def page(results: Results, verdict: Verdict | None = None, pictures: Sequence[Picture] = ()) -> str:
    """The whole page as one string of HTML."""
    parts = [
        _head(results, verdict), _attacks(results), _curves(results), held(results), _exposed(results),
        _pictures(pictures), _utility(results), _clusters(results), _protocol(results), _groups(results),
        _not_covered(results), _parameters(results),
    ]  # fmt: skip
    return document("faceveil evaluation", "".join(parts))


def _head(results: Results, verdict: Verdict | None) -> str:
    worst = results.worst
    state = "" if verdict is None else "passed" if verdict.passed else "failed"
    title = {"": "The worst attack", "passed": "Passed", "failed": "Failed"}[state]
    said = verdict.sentence if verdict else worst.sentence
    bare = sum(one.unchanged for one in results.exposed)
    numbers = (
        (
            f"{100 * worst.found.value:.1f} %",
            f"of people found by the worst attack; at most {100 * worst.found.high:.1f} %, 95 % sure",
        ),
        (f"{100 * worst.chance:.2g} %", f"a guess among {worst.gallery_people:,} people"),
        (f"{results.people:,}", f"people, {results.faces:,} faces, {results.photos:,} photos"),
        (f"{bare:,}", f"released {'face is' if bare == 1 else 'faces are'} still the original"),
    )
    cards = "".join(
        f"<div><b>{escape(value)}</b><span>{escape(text)}</span></div>" for value, text in numbers
    )
    warnings = "".join(f"<li>{escape(text)}</li>" for text in results.warnings)
    return (
        f"<header><p class='kind'>faceveil evaluation</p><h1>{escape(_names(results))}</h1></header>"
        f"<section class='verdict {state}'><h2>{title}</h2><p>{escape(_sentence(said))}</p>"
        f"<p class='note'>{escape(_in_words(results))}</p></section>"
        f"<section class='numbers'>{cards}</section>"
        + (f"<section class='warnings'><h2>Warnings</h2><ul>{warnings}</ul></section>" if warnings else "")
    )


def _names(results: Results) -> str:
    released, originals = (Path(name).name or name for name in (results.anonymised, results.originals))
    return f"The release “{released}”, judged against the originals “{originals}”"


def _in_words(results: Results) -> str:
    """The headline for someone who has never seen a biometric figure."""
    worst = results.worst
    many = round(100 * worst.found.value)
    return (
        f"In this attack ({worst.attack}) {MEANING[worst.attack]}. Of 100 people like these it would find about "
        f"{many}, by guessing {100 * worst.chance:.2g}. The range in brackets holds with 95 % confidence."
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _attacks(results: Results) -> str:
    head = ("attack", "recogniser", "found", "mean rank", "EER", "AUC", "FMR", "FNMR", "FTA", "FTE")
    rows = [_attack_row(one, one is results.worst) for one in results.attacks]
    rows += [_attack_row(one, False) for one in results.baseline]
    used = {
        name: MEANING[name]
        for name in dict.fromkeys(one.attack for one in (*results.attacks, *results.baseline))
    }
    notes = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in (used | TERMS).items()
    )
    took_part = any(one.used_by_method for one in results.attacks)
    return (
        "<section><h2>Attacks</h2>" + table(head, rows) + f"<dl class='notes'>{notes}</dl>"
        "<p class='note'>Rates in per cent with 95 % intervals by person. A photo in which no face is acquired is "
        "not found and never matches; EER and AUC count such failures. ° fewer than 30 events: only roughly known "
        "(Doddington)."
        + (" † took part in making the result: not counted alone." if took_part else "")
        + "</p></section>"
    )


def _attack_row(one: AttackResult, is_worst: bool) -> tuple[str, list[str]]:
    name = one.recognizer_name.removeprefix("recogniser ") + (" †" if one.used_by_method else "")
    cells = [
        escape(one.attack), escape(name), _rate(one.found),
        f"{one.mean_rank.value:.1f} <i>of {one.gallery_people:,}</i>", _percent(one.eer), _plain(one.auc, 3),
        _rate(one.fmr), _rate(one.fnmr), _rate(one.fta), _rate(one.fte),
    ]  # fmt: skip
    kind = "worst" if is_worst else "baseline" if one.attack == "unprotected" else ""
    return kind, cells


def _rate(rate: Rate, unit: str = "") -> str:
    if rate.people == 0:
        return "–"
    sign = "°" if rate.warning else ""
    return f"{100 * rate.value:.1f}{unit}{sign} <i>{100 * rate.low:.1f}–{100 * rate.high:.1f}</i>"


def _percent(one: Estimate) -> str:
    return f"{100 * one.value:.1f} <i>{100 * one.low:.1f}–{100 * one.high:.1f}</i>"


def _plain(one: Estimate, digits: int) -> str:
    if not np.isfinite(one.value):
        return "–"
    return f"{one.value:.{digits}f} <i>{one.low:.{digits}f}–{one.high:.{digits}f}</i>"


def _curves(results: Results) -> str:
    """Each attack with its strongest recogniser: more lines than that nobody can tell apart."""
    strongest: dict[str, AttackResult] = {}
    for one in (*results.attacks, *results.baseline):
        best = strongest.get(one.attack)
        if best is None or one.auc.value > best.auc.value:
            strongest[one.attack] = one
    chosen = list(strongest.values())
    labels = [
        f"{one.attack}, {one.recognizer_name.removeprefix('recogniser ').split(' ')[0]}" for one in chosen
    ]
    fmr = [np.array(one.curve_fmr) for one in chosen]
    fnmr = [np.array(one.curve_fnmr) for one in chosen]
    dets = det([Line(label, x, y) for label, x, y in zip(labels, fmr, fnmr, strict=True)])
    rocs = roc([Line(label, x, 1 - y) for label, x, y in zip(labels, fmr, fnmr, strict=True)])
    ranks = [
        Line(label, np.array(one.cmc_ranks, float), np.array(one.cmc))
        for label, one in zip(labels, chosen, strict=True)
    ]
    people = max(one.gallery_people for one in chosen)
    return (
        "<section><h2>Curves</h2><p class='note'>Each attack with the recogniser that does best in it. The nearer a "
        "line is to the dotted guess, the better the protection.</p>"
        f"<div class='curves'>{dets}{cmc(ranks, people)}{rocs}</div></section>"
    )


def _exposed(results: Results) -> str:
    if not results.exposed:
        return ""
    rows = [
        (
            "",
            [
                escape(one.where),
                escape(one.person),
                f"{len(one.recognizers)} of {len(results.recognizers)}",
                "the original face, unchanged" if one.unchanged else "",
            ],
        )
        for one in results.exposed[:MOST_NAMES]
    ]
    more = len(results.exposed) - len(rows)
    rest = f"<p class='note'>and {more:,} more; all are in the JSON.</p>" if more else ""
    return (
        f"<section><h2>Faces that give themselves away: {len(results.exposed):,}</h2>"
        "<p class='note'>Taken for their own original at a false-match rate of 0.1 %.</p>"
        + table(("photo", "person", "seen by", ""), rows) + rest + "</section>"
    )  # fmt: skip


def _pictures(pictures: Sequence[Picture]) -> str:
    if not pictures:
        return ""
    cells = "".join(
        f"<figure><img alt='before' src='{_data(one.before)}'><img alt='after' src='{_data(one.after)}'>"
        f"<figcaption>{escape(one.name)}</figcaption></figure>"
        for one in pictures
    )
    return f"<section><h2>Before and after</h2><div class='pictures'>{cells}</div></section>"


def _data(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _utility(results: Results) -> str:
    if not results.utility:
        return ""
    rows = [
        ("", [escape(name), _any(results.utility.get(key)), escape(sense)])
        for key, name, sense in UTILITY
        if not key.startswith("fid_inception") or np.isfinite(results.utility.get(key, np.nan))
    ]
    shares = [
        ("", [escape(name), f"{100 * pair['before']:.0f}", f"{100 * pair['after']:.0f}"])
        for name, pair in results.utility.get("distribution", {}).items()
    ]
    kinds = [
        (
            "",
            [
                escape(name),
                f"{entry['originals']:,}",
                f"{entry['released']:,}",
                f"{100 * entry['ratio']:.0f}",
            ],
        )
        for name, entry in results.diversity.items()
    ]
    return (
        "<section><h2>Utility</h2>" + table(("figure", "value", ""), rows)
        + "<div class='pair'><div><h3>Attributes in the set, %</h3>" + table(("", "before", "after"), shares)
        + "</div><div><h3>Identities seen</h3>" + table(("recogniser", "before", "after", "%"), kinds)
        + "</div></div></section>"
    )  # fmt: skip


def _any(value: Any) -> str:
    if isinstance(value, Rate):
        return _rate(value, " %")
    if isinstance(value, Estimate):
        return _plain(value, 3)
    return "–" if value is None or not np.isfinite(value) else f"{value:.2f}"


def _clusters(results: Results) -> str:
    if not results.clusters:
        return ""
    rows = [
        (
            "",
            [
                escape(one.recognizer), _rate(one.database_rate), _plain(one.information_loss, 3),
                f"{one.groups:,}", f"{one.smallest}" if one.groups else "–",
                f"{100 * one.mean_rate:.1f} <i>worst {100 * one.worst_rate:.1f}</i>" if one.groups else "–",
                f"{100 * one.bound:.1f}" if one.groups else "–",
            ],
        )
        for one in results.clusters
    ]  # fmt: skip
    head = (
        "recogniser",
        "re-identified in the set",
        "information loss",
        "groups",
        "k",
        "in groups, %",
        "1/k, %",
    )
    return (
        "<section><h2>Set and groups (AnonFACES)</h2>" + table(head, rows)
        + "<p class='note'>Re-identified: the original is below the recogniser's threshold of its own released face. "
        "Information loss: their mean distance. Groups: photos of several people that share a released face.</p>"
        "</section>"
    )  # fmt: skip


def _protocol(results: Results) -> str:
    if not results.protocol:
        return ""
    rows = [
        (
            "",
            [
                escape(one.comparison), escape(one.recognizer), f"{100 * one.accuracy:.1f} ± {100 * one.error:.1f}",
                f"{one.pairs:,} in {one.folds} folds", f"{one.failed:,}",
            ],
        )
        for one in results.protocol
    ]  # fmt: skip
    head = ("comparison", "recogniser", "accuracy, %", "pairs", "failed")
    note = "<p class='note'>Threshold of each fold from the other folds; 50 % is a guess.</p>"
    return f"<section><h2>Pairs protocol</h2>{table(head, rows)}{note}</section>"


def _groups(results: Results) -> str:
    if not results.groups:
        return ""
    rows = [
        (
            "",
            [
                escape(one.attribute), escape(one.group), f"{one.people:,}", _rate(one.found), _rate(one.missed),
                _rate(one.attribute_loss),
            ],
        )
        for one in results.groups
    ]  # fmt: skip
    head = ("attribute", "group", "people", "found, %", "original missed, %", "attributes lost, %")
    return f"<section><h2>Per group</h2>{table(head, rows)}<p class='note'>Found: by the worst attack.</p></section>"


def _not_covered(results: Results) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in results.not_covered)
    text = "These figures are about faces. They say nothing about:"
    return f"<section><h2>Not covered</h2><p>{text}</p><ul>{items}</ul></section>"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _parameters(results: Results) -> str:
    pairs = {
        "originals": results.originals, "released": results.anonymised, "faceveil": results.version,
        "made": results.created, "photos": f"{results.photos:,}, of which released: {results.released:,}",
        "originals without a face found": f"{results.not_found_in_original:,}",
        "originals with several faces": f"{results.several_faces:,}",
        "faces": f"{results.faces:,}; {results.small_faces:,} more are too small to count",
        **{key.replace("_", " "): _words(value) for key, value in results.parameters.items()},
        "seconds": ", ".join(f"{name} {value:g}" for name, value in results.seconds.items()),
    }  # fmt: skip
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(str(value))}</dd>" for key, value in pairs.items())
    judges = "".join(
        f"<dt>{escape(str(one['name']))}</dt>"
        f"<dd>threshold {one['threshold']}, sha256 <code>{one['sha256']}</code></dd>"
        for one in results.recognizers
    )
    return f"<section><h2>Parameters</h2><dl class='parameters'>{rows}{judges}</dl></section>"
