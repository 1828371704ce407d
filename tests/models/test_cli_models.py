"""faceveil models and faceveil doctor, as a user in a pipe sees them."""

import json
import os
import subprocess
import sys

import pytest

from faceveil.models import Store, cards


@pytest.fixture
def faceveil(tmp_path):
    def run(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "faceveil", *args]
        return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True)

    return run


def test_list_shows_every_card_in_plain_lines(faceveil):
    lines = faceveil("models", "list").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["id", *(card.id for card in cards())]


def test_list_commercial_shows_only_what_is_open(faceveil):
    shown = json.loads(faceveil("models", "list", "--commercial", "--json").stdout)
    assert [entry["id"] for entry in shown] == [card.id for card in cards() if card.commercial == "open"]
    assert all(entry["distribution"]["filename"] for entry in shown)


def test_pull_fills_an_empty_home_from_the_real_index_or_says_why(faceveil, tmp_path):
    done = faceveil("models", "pull", "yunet.2023mar", FACEVEIL_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "pulled yunet.2023mar" in done.stdout
    assert done.stderr == "", "no progress bar in a pipe"
    assert Store(tmp_path).has("yunet.2023mar")


def test_verify_fails_on_a_damaged_file_and_says_how_to_mend_it(faceveil, tmp_path):
    card = next(cards())
    folder = tmp_path / "weights" / card.id
    folder.mkdir(parents=True)
    for member in card.members:
        (folder / member.name).write_bytes(b"damaged")
    done = faceveil("models", "verify", FACEVEIL_HOME=str(tmp_path))
    assert done.returncode == 1
    assert f"faceveil models pull {card.id}" in done.stdout
    states = {
        entry["id"]: entry["state"]
        for entry in json.loads(faceveil("models", "verify", "--json", FACEVEIL_HOME=str(tmp_path)).stdout)
    }
    assert states.pop(card.id) == "damaged"
    assert set(states.values()) == {"missing"}


def test_pull_of_an_unknown_card_offers_the_nearest(faceveil):
    done = faceveil("models", "pull", "facemesh")
    assert done.returncode == 1
    assert "Did you mean 'facemesh.4" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("args", [[], ["--all", "yunet.2023mar"]])
def test_pull_wants_ids_or_all_and_not_both(faceveil, args):
    assert faceveil("models", "pull", *args).returncode == 2


def test_doctor_says_what_is_missing_and_how_to_get_it(faceveil, tmp_path):
    done = faceveil("doctor", "--json", FACEVEIL_HOME=str(tmp_path))
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["ok"]
    found = {finding["what"]: finding for finding in report["findings"]}
    assert found["facemesh.468"]["verdict"] == "missing"
    assert found["facemesh.468"]["remedy"] == "faceveil models pull facemesh.468"
    assert found["openvino"]["verdict"] == "ok"


def test_doctor_fails_where_the_weights_folder_cannot_be_written(faceveil, tmp_path):
    (tmp_path / "file").write_text("")
    done = faceveil("doctor", FACEVEIL_HOME=str(tmp_path / "file" / "home"))
    assert done.returncode == 1
    assert "FACEVEIL_HOME" in done.stdout
