"""The options of methods and runs by name, typed: the same words as on the command line."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from faceveil.errors import UsageError, meant

if TYPE_CHECKING:
    from faceveil.methods import Method
    from faceveil.pipeline import Settings

K_METHOD = "anonfaces"  # what k alone chooses


class MethodOptions(TypedDict, total=False):
    """What methods take; `faceveil methods` says which takes what. None leaves an option at its default."""

    k: int | None
    strength: int | None
    shape: Literal["box", "face"] | None
    privacy: Literal["low", "medium", "high"] | None
    fallback: Literal["blackout", "refuse"] | None
    consistent: bool | None
    recognizers: str | Sequence[str] | None
    layers: str | None
    channels: int | None
    region: str | None
    keep: Literal["none", "expression", "pose", "background"] | None
    gallery: Path | str | None
    grouper: str | None
    recognizer: str | None
    looks: float | None
    refine: int | None
    group_map: Literal["direct", "latent", "attribute"] | None
    synthesis_map: Literal["direct", "latent"] | None
    attributes: str | Sequence[str] | None


class ImageOptions(MethodOptions, total=False):
    """What besides decides how one image is protected."""

    detector: Literal["yunet", "blazeface", "centerface", "haar"]
    thorough: bool
    keep_metadata: str | Iterable[str]
    max_megapixels: int
    seed: int | None
    subjects: str | Path
    leftover: Literal["quarantine", "cover"]
    paste: Literal["joined", "identical"]


class RunOptions(ImageOptions, total=False):
    """What besides decides how a set is released."""

    release: Literal["photos", "crops"]


def method_of(name: "str | Method | None", given: Mapping[str, Any]) -> "Method":
    """The method by its id, with those of the options that are methods'; a method that was made stays as it is."""
    from faceveil.methods import DEFAULT
    from faceveil.methods import method as make

    own = {key: given[key] for key in MethodOptions.__annotations__ if given.get(key) is not None}
    if not (name is None or isinstance(name, str)):
        if own:
            raise UsageError(
                f"{', '.join(own)} must be given where the method is made: "
                f"faceveil.method({name.id!r}, {', '.join(f'{key}=…' for key in own)})."
            )
        return name
    for key in ("attributes", "recognizers"):
        if isinstance(own.get(key), str):
            own[key] = [part.strip() for part in own[key].split(",")]
        if key in own:
            own[key] = tuple(own[key])
    if "recognizers" in own:
        from faceveil.models.recognizers import recognizers_named  # the filters need none

        own["recognizers"] = recognizers_named(own["recognizers"])
    if "gallery" in own:
        own["gallery"] = Path(own["gallery"])
    if own.get("consistent") is False:
        del own["consistent"]
    return make(name or (K_METHOD if "k" in own else DEFAULT), **own)


def settings_of(method: "Method", given: Mapping[str, Any]) -> "Settings":
    """Everything that decides what becomes of a photo."""
    from faceveil.pipeline.settings import Settings

    plain = ("detector", "thorough", "seed", "leftover", "paste", "release")
    chosen = {key: given[key] for key in plain if key in given}
    if "subjects" in given:
        chosen["subjects"] = str(given["subjects"])
    if "keep_metadata" in given:
        chosen["keep_metadata"] = names_of(given["keep_metadata"])
    if "max_megapixels" in given:
        chosen["max_pixels"] = pixels_of(given["max_megapixels"])
    return Settings(method=method, **chosen)


def names_of(names: str | Path | Iterable[Any] | None) -> tuple[Any, ...]:
    """One name or several, as a tuple."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str | Path) else tuple(names)


def pixels_of(megapixels: int) -> int:
    """The limit in pixels."""
    if megapixels < 1:
        raise UsageError(f"max_megapixels is 1 or more; {megapixels} is not.")
    return int(megapixels * 1_000_000)


def refuse_unknown(call: str, given: Iterable[str], known: Collection[str]) -> None:
    """An option that nobody knows is an error with the nearest name: it must not be lost in silence."""
    for name in given:
        if name not in known:
            raise UsageError(
                f"faceveil.{call} has no option {name!r}; there are {', '.join(sorted(known))}.{meant(name, known)}"
            )
