"""Faces that were joined with their photos: the verifier draws each again, and catches what it does not draw."""

import base64
import json
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.privacy.test_verify import edit, kinds, manifest, of_each_group, place_in, save

from faceveil.faces.put_in import Member, packed, put_in
from faceveil.photos import read_photo
from faceveil.privacy.examine import TOLERANCE
from faceveil.privacy.guarantee import Guarantee, joined
from faceveil.privacy.record import ReleaseRecord, name_key
from faceveil.privacy.verify import verify

EYES = (80, 108), (176, 136)  # corners in the crop


def record(out: Path) -> ReleaseRecord:
    return ReleaseRecord.from_json(manifest(out)["released"])


def face_in(out: Path, name: str) -> Member:
    face = record(out).photos[name_key(name)][0].joined
    assert face is not None
    return face


def seen_in(content: dict, name: str) -> dict:
    return content["seen"][name_key(name)][0]


def test_a_genuine_release_holds_and_says_how(joined_out):
    verdict = verify(joined_out)
    assert verdict.holds and verdict.joined and verdict.faces == 6 and verdict.smallest == 3
    assert 0 < verdict.largest_difference < TOLERANCE
    about = manifest(joined_out)
    assert "k = 3" in about["guarantee"] and "light on its skin in 8 × 8 colours" in about["guarantee"]
    assert "the light on its skin" in about["not_covered"] and about["paste"] == "joined"


def test_members_of_a_group_show_one_face_in_lights_of_their_own(joined_out):
    faces = [face for faces in record(joined_out).photos.values() for face in faces]
    codes = {face.group: face.joined.code for face in faces}
    assert len(codes) == 2 and all(np.array_equal(face.joined.code, codes[face.group]) for face in faces)
    assert len({face.joined.seen.light.tobytes() for face in faces}) == len(faces)


@pytest.mark.parametrize("quality", [50, 90])
def test_photos_that_were_compressed_again_still_hold(joined_out, quality):
    for path in joined_out.glob("*.jpg"):
        Image.open(path).save(path, quality=quality)
    assert kinds(joined_out) == set()


def test_an_original_face_put_back_is_caught(joined_out, originals):
    shutil.copy(originals / "0.jpg", joined_out / "0.jpg")
    assert kinds(joined_out) == {"different-face"}
    assert {finding.where for finding in verify(joined_out).findings} == {"0.jpg"}


def test_original_eyes_put_back_are_caught(joined_out, originals):
    after, before = (read_photo(folder / "1.jpg").pixels.copy() for folder in (joined_out, originals))
    (left, top), (right, bottom) = place_in(joined_out, "1.jpg").points_to_photo(np.array(EYES)).astype(int)
    after[top:bottom, left:right] = before[top:bottom, left:right]
    save(after, joined_out / "1.jpg")
    assert "different-face" in kinds(joined_out)


def test_a_face_of_another_group_is_caught(joined_out):
    """Drawn by the same code, in the member's own light."""
    one, other = of_each_group(joined_out)
    here, there = (face_in(joined_out, name) for name in (one, other))
    image = read_photo(joined_out / one).pixels
    save(put_in(image, [Member(here.place, there.code, here.seen)])[0], joined_out / one)
    assert kinds(joined_out) == {"different-face"}


def test_an_original_that_the_outline_leaves_out_is_caught(joined_out, originals):
    """The photo and what run.json tells are both changed: its eyes are not among what was replaced."""
    face = face_in(joined_out, "1.jpg")
    image = read_photo(originals / "1.jpg").pixels
    (left, top), (right, bottom) = EYES
    outline = face.seen.outline
    outline[top - 12 : bottom + 12, left - 12 : right + 12] = False
    less = Member(face.place, face.code, type(face.seen)(packed(outline), *seen_beside(face)))
    save(put_in(image, [less])[0], joined_out / "1.jpg")

    def leave_out(content):
        seen_in(content, "1.jpg")["outline"] = base64.b64encode(packed(outline)).decode()

    edit(joined_out, leave_out)
    assert "face-left" in kinds(joined_out)


def seen_beside(face: Member):
    return face.seen.light, face.seen.grain, face.seen.turn


def another_face(content):
    one, other = content["faces"]
    content["faces"][one] = content["faces"][other]


def another_light(content):
    black = base64.b64encode(zlib.compress(bytes(8 * 8 * 3))).decode()
    seen_in(content, "1.jpg")["light"] = black


def another_turn(content):
    seen_in(content, "1.jpg")["turn"] = [25.0, 0.0]


def nothing_seen(content):
    del content["seen"]


def one_not_joined(content):
    content["seen"][name_key("1.jpg")] = [None]


def no_outline(content):
    seen_in(content, "1.jpg")["outline"] = "AAAA"


def no_face(content):
    content["faces"].popitem()


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (another_face, "different-face"),
        (another_light, "different-face"),
        (another_turn, "different-face"),
        (nothing_seen, "different-face"),
        (one_not_joined, "record"),
        (no_outline, "record"),
        (no_face, "record"),
    ],
)
def test_an_edited_record_is_caught(joined_out, change, kind):
    edit(joined_out, change)
    assert kind in kinds(joined_out)


def test_a_group_that_falls_below_k_is_caught(joined_out):
    (joined_out / "2.jpg").unlink()
    assert {finding.kind for finding in verify(joined_out).findings} == {"group-size"}


def test_run_json_tells_no_more_of_a_face_than_is_claimed(joined_out):
    """A record that is read and written again is the same, and beside four things there is nothing of a face."""
    content = manifest(joined_out)["released"]
    assert json.loads(json.dumps(ReleaseRecord.from_json(content).to_json())) == content
    for faces in content["seen"].values():
        for seen in faces:
            assert set(seen) == {"outline", "light", "turn", "grain"} and len(seen["grain"]) == 3
    assert set(content) == {"kind", "k", "groups", "crop_size", "photos", "faces", "seen"}


def test_only_a_claim_of_k_becomes_one_of_joined_faces():
    none = Guarantee("none", "nothing is claimed")
    assert joined(none) is none
    claim = joined(Guarantee("k-anonymity", "all the same", k=2))
    assert claim.k == 2 and "from the other;" in claim.sentence and "to the last bit" not in claim.sentence
