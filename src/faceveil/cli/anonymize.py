"""faceveil anonymize: photos in, protected photos out."""

import gc
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from faceveil.methods import Method
    from faceveil.pipeline import Plan, Settings, Summary

SEARCH_AFTER = gc.get_threshold()  # Python's own rhythm, before the start of the program changes it
K_METHOD = "anonfaces"  # what -k alone chooses


def anonymize(
    photos: Annotated[
        list[Path], typer.Argument(help="Files and folders; folders are searched recursively.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, or a file for one photo.")],
    method: Annotated[
        str | None, typer.Option(help=f"See 'faceveil methods'; styleid, or with -k {K_METHOD}.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Give every face to at least so many people.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="What members keep of their own: none, expression, pose, background.")
    ] = None,
    release: Annotated[
        str, typer.Option(help="'photos' with replaced faces, or 'crops': one picture per face.")
    ] = "photos",
    subjects: Annotated[
        str, typer.Option(help="Which faces are one person: auto, folder, each, or a CSV (photo,subject).")
    ] = "auto",
    leftover: Annotated[
        str, typer.Option(help="A face that no group takes: 'quarantine' its photo, or 'cover' it in black.")
    ] = "quarantine",
    gallery: Annotated[
        Path | None,
        typer.Option(
            help="k-same: neighbours from this folder of photos, not from the set; no k is claimed."
        ),
    ] = None,
    group_map: Annotated[str | None, typer.Option(help="miku: group by direct, latent or attribute.")] = None,
    synthesis_map: Annotated[str | None, typer.Option(help="miku: mix direct or latent.")] = None,
    attributes: Annotated[
        str | None, typer.Option(help="miku: the attributes to group by, as in 'age,female,smiling'.")
    ] = None,
    grouper: Annotated[str | None, typer.Option(help="How groups are formed; see 'faceveil group'.")] = None,
    recognizer: Annotated[str | None, typer.Option(help="Whose embedding groups are formed by.")] = None,
    looks: Annotated[
        float | None,
        typer.Option(help="anonfaces: how much gender, age and origin count in grouping; 0: not at all."),
    ] = None,
    refine: Annotated[
        int | None,
        typer.Option(
            min=0, help="miku, anonfaces: steps of gradient descent after the encoder; 20 is a good number."
        ),
    ] = None,
    strength: Annotated[int | None, typer.Option(help="What it means depends on the method.")] = None,
    shape: Annotated[str | None, typer.Option(help="Cover the 'box' or the 'face' shape.")] = None,
    privacy: Annotated[str | None, typer.Option(help="styleid: low, medium or high.")] = None,
    fallback: Annotated[
        str | None, typer.Option(help="styleid: 'blackout' or 'refuse' a face whose check fails.")
    ] = None,
    consistent: Annotated[
        bool, typer.Option("--consistent", help="styleid: photos of one person show one new person.")
    ] = False,
    recognizers: Annotated[
        str | None,
        typer.Option(
            help="styleid: who checks new faces, as in dlib-resnet.v1,sface.2021dec; 'open': all whose terms allow "
            "commercial use; 'all'."
        ),
    ] = None,
    layers: Annotated[str | None, typer.Option(help="styleid-layers: the slots to swap, as in 4-12.")] = None,
    channels: Annotated[int | None, typer.Option(help="styleid-channels: how many to swap.")] = None,
    region: Annotated[str | None, typer.Option(help="styleid-mask: the region to begin with.")] = None,
    detector: Annotated[
        str, typer.Option(help="yunet, blazeface, centerface or haar; another one checks the result.")
    ] = "yunet",
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Scan longer, for faces under 24 px in large photos.")
    ] = False,
    keep_metadata: Annotated[
        list[str] | None,
        typer.Option(help="Keep this metadata, or 'alpha', by name (repeatable); all else is dropped."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Make random draws repeatable.")] = None,
    engine: Annotated[
        str, typer.Option(help="auto, threads, processes or serial: the same bytes from each.")
    ] = "auto",
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Photos at a time; by default as many as cores, in threads one more."),
    ] = None,
    max_megapixels: Annotated[int, typer.Option(min=1, help="Refuse larger photos.")] = 200,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was cut off.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing output files.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a machine-readable summary.")] = False,
) -> None:
    """Replace every face in photos. Exit code 0: all protected; 1: failure; 2: usage; 3: not all photos."""
    from faceveil.methods import DEFAULT
    from faceveil.methods import method as make_method

    chosen = make_method(
        method or (DEFAULT if k is None else K_METHOD),
        k=k, keep=keep, gallery=gallery, grouper=grouper, recognizer=recognizer, looks=looks, refine=refine,
        group_map=group_map, synthesis_map=synthesis_map, attributes=_names(attributes), strength=strength,
        shape=shape, privacy=privacy, fallback=fallback, layers=layers, channels=channels, region=region,
        consistent=consistent or None, recognizers=_recognizers(recognizers),
    )  # fmt: skip
    if not dry_run:
        _load_ahead(chosen, detector, engine, workers)
    from faceveil.cli.summary import print_plan, print_summary
    from faceveil.pipeline import Settings, make_plan

    settings = Settings(
        method=chosen,
        detector=detector,
        thorough=thorough,
        keep=tuple(keep_metadata or ()),
        max_pixels=max_megapixels * 1_000_000,
        seed=seed,
        release=release,
        subjects=subjects,
        leftover=leftover,
    )
    plan = make_plan(photos, output)
    if dry_run:
        print_plan(plan, settings, as_json)
        return
    summary = _run(plan, settings, engine, workers, resume, overwrite)
    print_summary(summary, as_json)
    raise typer.Exit(summary.exit_code)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def _recognizers(text: str | None) -> tuple[str, ...] | None:
    names = _names(text)
    if names is None:
        return None
    from faceveil.models.recognizers import recognizers_named  # the filters need none

    return recognizers_named(names)


def _load_ahead(method: "Method", detector: str, engine: str, workers: int | None) -> None:
    """Networks prepare themselves while the rest is imported, where threads of this program will use them."""
    from faceveil.faces.detect import prepare_ahead
    from faceveil.models.memory import keep_freed_blocks
    from faceveil.models.runtime import allow_threads, threads_wanted

    keep_freed_blocks()
    if count := threads_wanted(engine, workers):
        allow_threads(count)
        prepare_ahead(detector, mesh=getattr(method, "needs_mesh", True))


def _load_meanwhile(method: "Method") -> None:
    """What a method's first face would wait for, while photos are read and searched."""
    if load := getattr(method, "load", None):
        Thread(target=load, daemon=True).start()


def _run(
    plan: "Plan", settings: "Settings", engine: str, workers: int | None, resume: bool, overwrite: bool
) -> "Summary":
    from faceveil.cli.render import stage_bars
    from faceveil.models import weights
    from faceveil.models.runtime import threads_wanted
    from faceveil.pipeline import run
    from faceveil.pipeline.engines import engine as make_engine

    gc.freeze()  # what was imported stays: it need not be searched for garbage again and again
    gc.set_threshold(*SEARCH_AFTER)
    for card in settings.cards:  # before the workers start, so that each file is fetched once
        weights(card)
    if threads_wanted(engine, workers):
        _load_meanwhile(settings.method)
    chosen = make_engine(engine, workers)
    if len(plan.jobs) == 1:  # starting processes would take longer than the work
        chosen = make_engine("serial")
    try:
        with stage_bars(len(plan.jobs)) as progress:
            return run(plan, settings, engine=chosen, resume=resume, overwrite=overwrite, progress=progress)
    except BaseException as error:  # also an interruption: say what it leaves behind
        for note in getattr(error, "__notes__", ()):
            print(f"faceveil: {note}", file=sys.stderr)
        raise
