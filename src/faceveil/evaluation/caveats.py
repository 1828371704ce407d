"""What a reader must know before believing the figures: the warnings of an evaluation."""

from collections.abc import Iterator, Sequence

from faceveil.evaluation.acquire import Looks
from faceveil.evaluation.attackers import Attacker
from faceveil.evaluation.clusters import MOST
from faceveil.evaluation.results import AttackResult
from faceveil.evaluation.who import points_without_a_face
from faceveil.models.inception import FEATURES

FEW_PEOPLE = 30


def caveats(
    looks: Looks, judges: Sequence[Attacker], plain: Sequence[AttackResult], clusters_given: bool, told: int
) -> list[str]:
    """Sentences about the set, the recognisers and the photos."""
    return [*_about_people(looks, told), *_about_judges(judges, plain), *_about_photos(looks, clusters_given)]


def _about_people(looks: Looks, told: int) -> Iterator[str]:
    people = len(looks.pairs.people)
    if people < FEW_PEOPLE:
        yield f"only {people} people: intervals are wide, and a guess finds {100 / people:.0f} %"
    if told:
        yield (
            f"whom {told} of {len(looks.looks)} faces show was told by the recognisers and may be wrong; "
            "name people with --subjects FILE.csv (photo, x, y, person)"
        )
    if missed := points_without_a_face(looks):
        row = missed[0]
        yield (
            f"{len(missed)} points of the table of people lie in no face that was found, the first: "
            f"{row['photo']}, x {row['x']}, y {row['y']}; nothing is said about them"
        )


def _about_judges(judges: Sequence[Attacker], plain: Sequence[AttackResult]) -> Iterator[str]:
    if all(one.used_by_method for one in judges):
        yield "every recogniser took part in making the result: its figures prove nothing"
    weak = [one.recognizer for one in plain if one.found.value < 0.5]
    if weak:
        yield f"on these originals {', '.join(weak)} finds under half of the people even unprotected"


def _about_photos(looks: Looks, clusters_given: bool) -> Iterator[str]:
    photos = looks.main.looks
    lost = sum(look.original is None for look in photos)
    if lost:
        yield f"no face was found in {lost} of {len(photos)} originals: nothing is said about them"
    problems = [look.problem for look in photos if look.problem]
    if problems:
        yield f"{len(problems)} photos could not be read, the first: {problems[0]}"
    if looks.pairs.unpaired:
        yield f"{len(looks.pairs.unpaired)} released photos have no original: no rate counts them"
    if sum(look.anonymised is not None for look in looks.looks) > MOST and not clusters_given:
        yield f"over {MOST:,} released faces: shared ones were not looked for; name them with --clusters"
    measured = sum("inception_photo" in look.measures for look in photos)
    if 0 < measured < FEATURES:
        yield (
            f"FID of {measured} photos is too high by chance (fewer photos than features, {FEATURES:,}): "
            "compare it only with others of as many photos"
        )
