"""Why work counts as accepted: an append-only list of signals, and the verdict derived from it.

A signal verifies when it is about this work (its thread, its pull request), came from someone else than its author,
after the last change, and nothing later took it back. Signals are added, never replaced; the verdict is derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import msgspec

from correlator.wording import polarity
from streams.events import MessagePosted, OutcomeSignalled
from streams.recall import TaskTrajectory, VerificationSignal

VERIFYING = ("pr_merged", "ci_passed", "operator_accepted", "reviewer_approved")
"""Signals that verify work. Source: F200 Phase D (`outputVerified`)."""

WITHDRAWING = ("reverted", "rejected")
"""Signals that take every earlier acceptance back."""

OWN_SIGNALS = ("invocation_succeeded",)
"""Signals that the correlator sees by itself; all others come from outside."""


def with_signals(
    trajectory: TaskTrajectory,
    signals: Iterable[OutcomeSignalled] = (),
    messages: Iterable[MessagePosted] = (),
    *,
    carried: Iterable[VerificationSignal] = (),
) -> TaskTrajectory:
    """Return the trajectory with what outside events and chat messages of its thread say of it.

    Idempotent and independent of order: the same signals again add nothing. The revision rises with their number.

    Args:
        trajectory: As it stands.
        signals: Events from outside; those of another thread are passed over.
        messages: Chat turns, likewise.
        carried: Signals that an earlier revision of the trajectory had.
    """
    said = [_of_outcome(signal) for signal in signals if signal.thread_id == trajectory.thread_id]
    turns = (message for message in messages if message.thread_id == trajectory.thread_id)
    said += [found for message in turns if (found := _of_message(message, trajectory)) is not None]
    together = dict.fromkeys([*(_bare(each) for each in (*trajectory.signals, *carried)), *said])
    ordered = sorted(together, key=lambda each: (each.at, each.signal, each.actor, each.target, each.evidence))
    weighed = tuple(
        msgspec.structs.replace(each, verifies=_verifies(each, ordered[place + 1 :], trajectory))
        for place, each in enumerate(ordered)
    )
    added = len(ordered) - len(trajectory.signals)
    return msgspec.structs.replace(
        trajectory,
        signals=weighed,
        output_verified=any(each.verifies for each in weighed),
        revision=trajectory.revision + 2 * added,
    )


def _bare(signal: VerificationSignal) -> VerificationSignal:
    return msgspec.structs.replace(signal, verifies=False)


def _of_outcome(signal: OutcomeSignalled) -> VerificationSignal:
    return VerificationSignal(
        signal=signal.signal,
        actor=signal.actor,
        at=signal.occurred_at,
        target=signal.target,
        evidence=signal.evidence or signal.event_id,
    )


def is_verdict(message: MessagePosted) -> bool:
    """Whether a chat turn may be a signal; what bots say, and talk without a verdict, never is."""
    return message.author_kind in ("operator", "agent") and polarity(message.text) != "none"


def _of_message(message: MessagePosted, trajectory: TaskTrajectory) -> VerificationSignal | None:
    """The signal that a chat turn is; bots, the author's own words and talk without a verdict are none."""
    if message.author_kind == "operator":
        accepted = "operator_accepted"
    elif message.author_kind == "agent" and not _is_author(message.agent_id, trajectory):
        accepted = "reviewer_approved"
    else:
        return None
    verdict = polarity(message.text)
    if verdict == "none":
        return None
    return VerificationSignal(
        signal=accepted if verdict == "accept" else "rejected",
        actor=message.agent_id,
        at=message.occurred_at,
        target=message.reply_to or "",
        evidence=message.message_id,
    )


def _is_author(actor: str, trajectory: TaskTrajectory) -> bool:
    return actor == trajectory.agent_id or actor.startswith(f"{trajectory.agent_id}/")


def _verifies(signal: VerificationSignal, later: Sequence[VerificationSignal], trajectory: TaskTrajectory) -> bool:
    if signal.signal not in VERIFYING or signal.at < trajectory.started_at:
        return False
    if signal.signal == "reviewer_approved" and _is_author(signal.actor, trajectory):
        return False
    if signal.signal in ("operator_accepted", "reviewer_approved", "ci_passed") and signal.at < _last_change(
        trajectory
    ):
        return False
    return not any(_withdraws(each, signal) for each in later)


def _last_change(trajectory: TaskTrajectory) -> datetime:
    return max((step.at for step in trajectory.steps if step.kind == "edit"), default=trajectory.started_at)


def _withdraws(later: VerificationSignal, signal: VerificationSignal) -> bool:
    """A revert takes back everything; a refusal in words what was accepted in words, not what a machine saw."""
    if later.signal == "reverted":
        return True
    return later.signal == "rejected" and signal.signal in ("operator_accepted", "reviewer_approved")


def signal_named(name: str) -> Literal["pr_merged", "ci_passed", "operator_accepted", "reviewer_approved"]:
    """Return a signal that may be reported from outside.

    Raises:
        ValueError: for any other name; what a run says of itself cannot be injected.
    """
    for known in VERIFYING:
        if name == known:
            return known  # type: ignore[return-value]  # one of the four literals
    raise ValueError(f"expected a signal in {list(VERIFYING)}, got {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """What a code host's tracker knows of one pull request."""

    number: str = ""
    status: Literal["active", "done"] = "active"
    state: str | None = None
    """`open`, `closed` or `merged`; null where nobody recorded it."""
    bucket: str | None = None
    """Outcome of the checks: `pass`, `success`, `pending`, `fail`."""
    head: str | None = None
    fingerprint: str | None = None
    """`<commit>:<bucket>` of the last checked commit."""


def _about(tracked: Sequence[PullRequest], number: str | None) -> list[PullRequest]:
    return [each for each in tracked if number is None or each.number == number]


def is_merged(tracked: Sequence[PullRequest], number: str | None = None) -> bool:
    """Whether the work's pull request was merged: all its records are done and the newest says so.

    Args:
        tracked: Records, old to new.
        number: The pull request of the work; null takes all of the thread.
    """
    own = _about(tracked, number)
    return bool(own) and all(each.status == "done" for each in own) and own[-1].state == "merged"


def checks_passed(tracked: Sequence[PullRequest], number: str | None = None) -> bool:
    """Whether the checks passed on the current commit of the open pull request; another's checks lend nothing.

    Args:
        tracked: Records, old to new.
        number: The pull request of the work; null takes all of the thread.
    """
    return any(
        each.status == "active"
        and each.bucket in ("pass", "success")
        and each.head
        and (each.fingerprint or "").partition(":")[0] == each.head
        for each in _about(tracked, number)
    )
