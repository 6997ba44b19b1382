"""The dead letters of a data folder: which there are, which were tried again, which were dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from deploy.running import joined
from deploy.settings import Settings
from deploy.stack import CORRELATOR, SINK, Stack
from streams.deadletter import DeadLetter, Replay, ReplayPolicy
from streams.errors import ConfigError
from warehouse.store import Warehouse

Outcome = Literal["replayed", "dropped"]


class Settled(msgspec.Struct, frozen=True):
    """One line of the ledger: a letter that needs nothing more."""

    letter_id: str
    outcome: Outcome


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """One dead letter as it landed."""

    letter_id: str
    letter: DeadLetter


@dataclass(frozen=True, slots=True)
class Trial:
    """What trying one letter again comes to."""

    letter: Letter
    result: Replay | str
    """What is appended, or why nothing is."""


class DeadLetters:
    """Reads the warehouse's dead letters; the ledger beside it remembers what was done about them."""

    def __init__(self, folder: Path) -> None:
        self._warehouse = Warehouse(folder)
        self._ledger = folder / "dead-letters.jsonl"

    def waiting(self) -> list[Letter]:
        """Return the letters that nobody has settled, oldest first."""
        settled = {each.letter_id for each in self._settled()}
        rows = self._warehouse.sql("SELECT * FROM dead_letters ORDER BY _logged_at, letter_id")
        return [_letter(row) for row in rows if row["letter_id"] not in settled]

    def find(self, prefixes: Sequence[str]) -> list[Letter]:
        """Return the waiting letters whose ids begin so; all of them for no prefix.

        Raises:
            ConfigError: naming the prefixes that fit no waiting letter.
        """
        waiting = self.waiting()
        if unknown := [p for p in prefixes if not any(each.letter_id.startswith(p) for each in waiting)]:
            raise ConfigError(f"expected ids of waiting dead letters, got {', '.join(unknown)}")
        return [each for each in waiting if not prefixes or each.letter_id.startswith(tuple(prefixes))]

    def settle(self, letters: Iterable[Letter], outcome: Outcome) -> None:
        """Remember that nothing more is to be done about these."""
        with self._ledger.open("ab") as ledger:
            ledger.write(msgspec.json.Encoder().encode_lines([Settled(each.letter_id, outcome) for each in letters]))

    def _settled(self) -> list[Settled]:
        if not self._ledger.exists():
            return []
        return msgspec.json.Decoder(Settled).decode_lines(self._ledger.read_bytes())


def trials(letters: Iterable[Letter], policy: ReplayPolicy | None = None) -> list[Trial]:
    """Return what trying each letter again would come to; appends nothing."""
    policy = policy or ReplayPolicy()
    return [Trial(letter, policy.replay(letter.letter)) for letter in letters]


async def replay(settings: Settings, tried: Sequence[Trial]) -> list[Letter]:
    """Append what can be read by now, wait until it is landed, and return those letters.

    Joins the pipeline that runs on the data folder, or runs one of its own meanwhile.
    """
    ready = [(trial.letter, trial.result) for trial in tried if isinstance(trial.result, Replay)]
    if not ready:
        return []
    here = joined(settings)
    async with Stack(here, roles=(CORRELATOR, SINK) if here.broker == "" else ()) as stack:
        for _, result in ready:
            await stack.emitter.emit(result.topic, key=result.key, value=result.value)
        await stack.drained()
    return [letter for letter, _ in ready]


def _letter(row: dict[str, object]) -> Letter:
    fields = {
        "stage": row["stage"],
        "reason": row["reason"],
        "topic": row["source_topic"],
        "partition": row["source_partition"],
        "offset": row["source_offset"],
        "line": row["source_line"],
        "adapter": row["adapter"] or "",
        "uri": row["uri"] or "",
        "raw": row["raw"] or b"",
    }
    letter = msgspec.convert(fields, DeadLetter, builtin_types=(bytes,))
    return Letter(letter_id=str(row["letter_id"]), letter=letter)
