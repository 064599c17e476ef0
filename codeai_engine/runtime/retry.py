"""Whether a failed attempt is followed by another, and after how long. Pure.

Off unless the spec asks: with one attempt nothing is ever sent twice.
"""

from __future__ import annotations

RETRYABLE = frozenset({"rate_limited", "server_error", "timeout", "connect"})
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 300.0


def next_wait(kind: str, made: int, allowed: int, asked_s: float | None) -> float | None:
    """Return how long to wait before the next attempt, in seconds; None when there is none.

    Args:
        kind: What the last attempt ended in.
        made: How many attempts were made, at least 1.
        allowed: How many the spec allows.
        asked_s: What the provider asked to wait. Longer than `LONGEST_WAIT_S` means no retry:
            a run does not sleep for hours.
    """
    if made >= allowed or kind not in RETRYABLE:
        return None
    wait_s = FIRST_WAIT_S * 2 ** (made - 1) if asked_s is None else asked_s
    return wait_s if wait_s <= LONGEST_WAIT_S else None
