"""faceveil anonymize: photos in, protected photos out."""

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from faceveil.pipeline import Plan, Settings, Summary

SEARCH_AFTER = gc.get_threshold()  # Python's own rhythm, before the start of the program changes it
K_METHODS = "Methods on whole sets (-k)"
ANONFACES, K_SAME, MIKU, FILTERS, STYLEID = (
    f"Method: {name}" for name in ("anonfaces", "k-same-*", "miku", "filters", "styleid, styleid-*")
)
PHOTOS, RUN = "Faces and photos", "The run"  # panels of the help


def _methods(incomplete: str) -> list[str]:
    """For the shell's completion."""
    from faceveil.methods import HOMES

    return [name for names in HOMES.values() for name in names if name.startswith(incomplete)]


def anonymize(
    photos: Annotated[
        list[Path], typer.Argument(help="Files and folders; folders are searched recursively.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, or a file for one photo.")],
    method: Annotated[
        str | None,
        typer.Option(help="See 'faceveil methods'; styleid, or with -k anonfaces.", autocompletion=_methods),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", min=1, help="Give every face to at least so many people.", rich_help_panel=K_METHODS
        ),
    ] = None,
    release: Annotated[
        str,
        typer.Option(
            help="'photos' with replaced faces, or 'crops': one picture per face.", rich_help_panel=K_METHODS
        ),
    ] = "photos",
    paste: Annotated[
        str,
        typer.Option(
            help="A group's face in photos: 'identical' in all, or 'joined' with each, in its light: "
            "natural, and a weaker claim.",
            rich_help_panel=K_METHODS,
        ),
    ] = "identical",
    subjects: Annotated[
        str,
        typer.Option(
            help="Which faces are one person: auto, folder, each, or a CSV (photo,subject). Also for styleid.",
            rich_help_panel=K_METHODS,
        ),
    ] = "auto",
    leftover: Annotated[
        str,
        typer.Option(
            help="A face that no group takes: 'quarantine' its photo, or 'cover' it in black.",
            rich_help_panel=K_METHODS,
        ),
    ] = "quarantine",
    grouper: Annotated[
        str | None,
        typer.Option(
            help="anonfaces, k-same: how groups are formed; see 'faceveil group'.", rich_help_panel=K_METHODS
        ),
    ] = None,
    refine: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="miku, anonfaces: steps of gradient descent after the encoder; 20 is a good number.",
            rich_help_panel=K_METHODS,
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="What members keep of their own: none, expression, pose, background.",
            rich_help_panel=ANONFACES,
        ),
    ] = None,
    recognizer: Annotated[
        str | None, typer.Option(help="Whose embedding groups are formed by.", rich_help_panel=ANONFACES)
    ] = None,
    looks: Annotated[
        float | None,
        typer.Option(
            help="How much gender, age and origin count in grouping; 0: not at all.",
            rich_help_panel=ANONFACES,
        ),
    ] = None,
    gallery: Annotated[
        Path | None,
        typer.Option(
            help="Neighbours from this folder of photos, not from the set; no k is claimed.",
            rich_help_panel=K_SAME,
        ),
    ] = None,
    group_map: Annotated[
        str | None, typer.Option(help="Group by direct, latent or attribute.", rich_help_panel=MIKU)
    ] = None,
    synthesis_map: Annotated[
        str | None, typer.Option(help="Mix direct or latent.", rich_help_panel=MIKU)
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(help="The attributes to group by, as in 'age,female,smiling'.", rich_help_panel=MIKU),
    ] = None,
    privacy: Annotated[
        str | None, typer.Option(help="styleid: low, medium or high.", rich_help_panel=STYLEID)
    ] = None,
    fallback: Annotated[
        str | None,
        typer.Option(help="'blackout' or 'refuse' a face whose check fails.", rich_help_panel=STYLEID),
    ] = None,
    consistent: Annotated[
        bool,
        typer.Option(
            "--consistent", help="Photos of one person show one new person.", rich_help_panel=STYLEID
        ),
    ] = False,
    recognizers: Annotated[
        str | None,
        typer.Option(
            help="Who checks new faces, as in dlib-resnet.v1,sface.2021dec; 'open': all whose terms allow "
            "commercial use; 'all'.",
            rich_help_panel=STYLEID,
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="styleid-layers: the slots to swap, as in 4-12.", rich_help_panel=STYLEID),
    ] = None,
    channels: Annotated[
        int | None, typer.Option(help="styleid-channels: how many to swap.", rich_help_panel=STYLEID)
    ] = None,
    region: Annotated[
        str | None, typer.Option(help="styleid-mask: the region to begin with.", rich_help_panel=STYLEID)
    ] = None,
    strength: Annotated[
        int | None,
        typer.Option(
            help="What it means depends on the filter; see 'faceveil methods'.", rich_help_panel=FILTERS
        ),
    ] = None,
    shape: Annotated[
        str | None, typer.Option(help="Cover the 'box' or the 'face' shape.", rich_help_panel=FILTERS)
    ] = None,
    detector: Annotated[
        str,
        typer.Option(
            help="yunet, blazeface, centerface or haar; another one checks the result.",
            rich_help_panel=PHOTOS,
            autocompletion=lambda: ["yunet", "blazeface", "centerface", "haar"],
        ),
    ] = "yunet",
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough", help="Scan longer, for faces under 24 px in large photos.", rich_help_panel=PHOTOS
        ),
    ] = False,
    keep_metadata: Annotated[
        list[str] | None,
        typer.Option(
            help="Keep this metadata, or 'alpha', by name (repeatable); all else is dropped.",
            rich_help_panel=PHOTOS,
        ),
    ] = None,
    max_megapixels: Annotated[
        int, typer.Option(min=1, help="Refuse larger photos.", rich_help_panel=PHOTOS)
    ] = 200,
    seed: Annotated[
        int | None, typer.Option(help="Make random draws repeatable.", rich_help_panel=RUN)
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="auto, threads, processes or serial: the same bytes from each.", rich_help_panel=RUN
        ),
    ] = "auto",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Photos at a time; by default as many as cores, in threads one more.",
            rich_help_panel=RUN,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was cut off.", rich_help_panel=RUN)
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace existing output files.", rich_help_panel=RUN)
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say what would be done and write nothing.", rich_help_panel=RUN),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a machine-readable summary.", rich_help_panel=RUN)
    ] = False,
) -> None:
    """Replace every face in photos. Exit code 0: all protected; 1: failure; 2: usage; 3: not all photos."""
    from faceveil.api.ahead import load_detectors
    from faceveil.api.options import method_of, settings_of
    from faceveil.models.memory import keep_freed_blocks

    given: dict[str, Any] = {
        "k": k, "keep": keep, "gallery": gallery, "grouper": grouper, "recognizer": recognizer, "looks": looks,
        "refine": refine, "group_map": group_map, "synthesis_map": synthesis_map, "attributes": attributes,
        "strength": strength, "shape": shape, "privacy": privacy, "fallback": fallback, "layers": layers,
        "channels": channels, "region": region, "consistent": consistent, "recognizers": recognizers,
        "detector": detector, "thorough": thorough, "keep_metadata": keep_metadata, "max_megapixels": max_megapixels,
        "seed": seed, "release": release, "paste": paste, "subjects": subjects, "leftover": leftover,
    }  # fmt: skip
    chosen = method_of(method, given)
    if not dry_run:
        keep_freed_blocks()
        load_detectors(chosen, detector, engine, workers)
    settings = settings_of(chosen, given)
    from faceveil.cli.summary import print_plan, print_summary
    from faceveil.pipeline import make_plan
    from faceveil.pipeline.engines import engine as make_engine

    make_engine(engine, workers)  # a name that there is not is refused before the search for photos
    plan = make_plan(photos, output)
    if dry_run:
        print_plan(plan, settings, as_json)
        return
    summary = _run(plan, settings, engine, workers, resume, overwrite)
    print_summary(summary, as_json)
    raise typer.Exit(summary.exit_code)


def _run(
    plan: "Plan", settings: "Settings", engine: str, workers: int | None, resume: bool, overwrite: bool
) -> "Summary":
    from faceveil.api.ahead import load_method
    from faceveil.cli.render import download_bar, stage_bars
    from faceveil.pipeline import run
    from faceveil.pipeline.engines import engine as make_engine

    gc.freeze()  # what was imported stays: it need not be searched for garbage again and again
    gc.set_threshold(*SEARCH_AFTER)
    with download_bar() as downloading:
        load_method(settings, engine, workers, downloading)
    chosen = make_engine(engine, workers)
    if len(plan.jobs) == 1:  # starting processes would take longer than the work
        chosen = make_engine("serial")
    first = "looking" if settings.knows_the_set else "protecting"
    try:
        with stage_bars(len(plan.jobs), first) as progress:
            return run(plan, settings, engine=chosen, resume=resume, overwrite=overwrite, progress=progress)
    except BaseException as error:  # also an interruption: say what it leaves behind
        for note in getattr(error, "__notes__", ()):
            print(f"faceveil: {note}", file=sys.stderr)
        raise
