"""Faces of a set as StyleID meets them: remembered, given another's profile, and looked at again when replaced."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from faceveil.faces import Face, with_mesh
from faceveil.faces.face import Image
from faceveil.methods.company import Company, Met, Profile
from faceveil.methods.styleid.check import PRESENCE, embeddings
from faceveil.methods.styleid.choice import suitable
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.methods.styleid.measure import Source, measure
from faceveil.methods.styleid.move import choose
from faceveil.models.mobilestylegan import Floats


def met(crop: Image, recognizers: Sequence[str]) -> Met | None:
    """What to remember of an aligned face; None where the mesh network sees none."""
    source = measure(crop, face_in_crop(crop), recognizers)
    if source is None:
        return None
    person = source.person
    return Met(
        source.embeddings,
        Profile(person.age, person.female, person.shade),
        tuple(suitable(person, source.embeddings)),
    )


def targets_for(
    crop: Image,
    recognizers: tuple[str, ...],
    profile: Profile | None,
    rng: np.random.Generator,
    count: int,
    dealt: tuple[int, ...],
) -> tuple[int, ...]:
    """Targets for the person in an aligned face, in the order to try them."""
    source = measure(crop, face_in_crop(crop), recognizers)
    return tuple(choose(_with_profile(source, profile), rng, count, dealt)) if source else ()


def received(source: Source | None, company: Company) -> Source | None:
    """The face as its company wants it: with another's profile, or not at all."""
    return None if source is None or company.cover else _with_profile(source, company.profile)


def seen(image: Image, face: Face, recognizers: Sequence[str]) -> dict[str, Floats] | None:
    """How the recognisers see a face that was protected; None where no face is left."""
    after = with_mesh(image, [face])[0]
    return embeddings(image, after, recognizers) if (after.presence or 0) >= PRESENCE else None


def _with_profile(source: Source, profile: Profile | None) -> Source:
    if profile is None:
        return source
    person = replace(source.person, age=profile.age, female=profile.female, shade=profile.shade)
    return replace(source, person=person)
