"""A claim names what it needs, and nothing claims what it does not have."""

import pytest

from faceveil.methods import METHODS, method
from faceveil.models.recognizers import WATCHING
from faceveil.privacy import Guarantee


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "k-anonymity"},
        {"kind": "none", "k": 3},
        {"kind": "beyond-threshold", "k": 3, "recognizers": ("a",)},
        {"kind": "beyond-threshold"},
        {"kind": "none", "recognizers": ("a",)},
        {"kind": "k-anonymity", "k": 3, "recognizers": ("a",)},
    ],
)
def test_a_claim_that_lacks_or_borrows_what_another_needs_cannot_be_made(wrong):
    with pytest.raises(ValueError, match=r"needs it|nothing else does"):
        Guarantee(sentence="", **wrong)


def test_claims_that_are_whole_can_be_made():
    assert Guarantee("k-anonymity", "", k=2).k == 2
    assert Guarantee("beyond-threshold", "", recognizers=("a",)).recognizers == ("a",)
    assert Guarantee("none", "").k is None


@pytest.mark.parametrize("name", METHODS)
def test_every_method_s_claim_is_the_one_in_the_readme_s_table(name, examples):
    table = (examples.parents[1] / "README.md").read_text(encoding="utf-8")
    (line,) = [line for line in table.splitlines() if line.startswith(f"| `{name}`")]
    told = line.split("|")[3].strip()
    claim = method(name).guarantee
    words = {
        "none": "none",
        "k-anonymity": "k-anonymity of the face",
        "beyond-threshold": "beyond the thresholds",
    }
    assert told.startswith(words[claim.kind]) or (told == "the same" and claim.kind == "beyond-threshold")
    if claim.kind == "beyond-threshold":
        assert claim.recognizers == tuple(WATCHING)
        assert all(recognizer in claim.sentence for recognizer in claim.recognizers)
    if claim.kind == "k-anonymity":
        assert f"k = {claim.k}" in claim.sentence
