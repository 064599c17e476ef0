"""What a check does to a claim that it names, and where a claim stands after its attempts."""

from __future__ import annotations

import pytest

from codeai_engine.rules.promotion import attempt_effects, inadmissible, standing


@pytest.mark.parametrize(
    ("verdict", "effect"),
    [("PASS", "evidence"), ("FAIL", "refutation"), ("INCONCLUSIVE", None), ("ERROR", None)],
)
def test_only_pass_and_fail_move_a_known_claim(verdict: str, effect: str | None) -> None:
    found = attempt_effects(verdict, claim_known=True)
    assert (found.effect, found.refusal) == (effect, None)
    assert (found.inadmissible is None) == (effect is not None)


@pytest.mark.parametrize("verdict", ["PASS", "FAIL", "INCONCLUSIVE", "ERROR"])
def test_an_unknown_claim_is_refused_and_never_moved(verdict: str) -> None:
    found = attempt_effects(verdict, claim_known=False)
    assert (found.effect, found.refusal) == (None, "unknown_claim")
    assert found.inadmissible


@pytest.mark.parametrize("verdict", ["ERROR", "INCONCLUSIVE", "MAYBE", None])
def test_what_is_no_verdict_on_the_claim_is_inadmissible_with_a_reason(
    verdict: str | None,
) -> None:
    assert inadmissible(verdict)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((), "unresolved"),
        (("ERROR", "INCONCLUSIVE", None), "unresolved"),
        (("PASS",), "supported"),
        (("PASS", "ERROR", "PASS"), "supported"),
        (("FAIL", "INCONCLUSIVE"), "refuted"),
        (("PASS", "FAIL"), "contested"),
        (("FAIL", "PASS"), "contested"),
    ],
)
def test_a_claim_stands_where_its_admissible_attempts_put_it(
    verdicts: tuple[str | None, ...], expected: str
) -> None:
    assert standing(verdicts) == expected
