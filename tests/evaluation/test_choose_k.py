"""The plateau rule: which k is recommended, and that the reason is true."""

from hypothesis import given
from hypothesis import strategies as st

from faceveil.evaluation.choose_k import choose_k
from faceveil.evaluation.intervals import Rate
from faceveil.evaluation.trials import Trial


def trial(k: int, loss: float, upper: float = 0.1, released: float = 1.0) -> Trial:
    rate = Rate(upper / 2, 0.0, upper, 1, 100, 100)
    return Trial("m", k, 100, released, 100 // k, loss, rate, "judge", False, {}, 1.0, 0.0)


def test_the_far_end_of_the_first_plateau_is_recommended():
    rows = [
        trial(2, 0.30),
        trial(3, 0.38),
        trial(5, 0.45),
        trial(10, 0.455),
        trial(20, 0.60),
        trial(30, 0.61),
    ]
    choice = choose_k(rows)
    assert choice.k == 10 and "from k = 5 to 10" in choice.reason


def test_a_limit_leads_past_a_plateau_that_does_not_keep_it():
    rows = [trial(2, 0.30), trial(5, 0.45), trial(10, 0.455), trial(20, 0.60, 0.04), trial(30, 0.61, 0.04)]
    assert choose_k(rows, max_risk=0.05).k == 30


def test_a_limit_that_no_k_keeps_gives_none_and_names_the_nearest():
    choice = choose_k([trial(2, 0.3, 0.5), trial(5, 0.4, 0.2)], max_risk=0.05)
    assert choice.k is None and "k = 5" in choice.reason and "20.0" in choice.reason


def test_loss_that_rises_evenly_has_no_plateau():
    choice = choose_k([trial(k, 0.1 * k) for k in (2, 3, 4, 5)])
    assert choice.k == 2 and "steadily" in choice.reason


def test_a_k_at_which_faces_are_held_back_is_no_choice():
    assert choose_k([trial(2, 0.3), trial(5, 0.3, released=0.5), trial(8, 0.3, released=0.5)]).k == 2
    assert choose_k([trial(2, 0.3, released=0.5)]).k is None


@given(
    st.lists(st.tuples(st.floats(0.1, 1), st.floats(0, 1)), min_size=1, max_size=8),
    st.one_of(st.none(), st.floats(0, 1)),
)
def test_a_recommended_k_keeps_the_limit_and_is_in_the_reason(rows, limit):
    ks = [2, 3, 5, 8, 12, 16, 20, 30]
    trials = [trial(k, loss, upper) for k, (loss, upper) in zip(ks, rows, strict=False)]
    choice = choose_k(trials, limit)
    keeping = [row.k for row in trials if limit is None or row.found.high <= limit]
    assert (choice.k is None) == (not keeping)
    if choice.k is not None:
        assert choice.k in keeping
        assert f"k = {choice.k}" in choice.reason or f"to {choice.k}" in choice.reason
