"""Tells a group that stands still from one that is only busy or idle, by what the broker says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.log import Partition, Position

Positions = Mapping[Partition, Position]


@dataclass(frozen=True, slots=True)
class Watch:
    """What was seen so far; look in even intervals of at least ten seconds."""

    held_messages: int
    """More than so many messages a working owner never holds back; and none when nothing new comes."""
    patience: int = 2
    """Looks in a row that must find a partition standing."""
    seen: Positions = field(default_factory=dict)
    standing: Mapping[Partition, int] = field(default_factory=dict)
    """Partition -> looks in a row that found it so."""
    reached: Mapping[Partition, int] = field(default_factory=dict)
    """Next offset that this worker reads."""

    def look(self, now: Positions, reached: Mapping[Partition, int] | None = None) -> Watch:
        """Return the watch after one more look.

        A partition that this worker reads on in does not stand, however late its commits come: to begin anew would
        make a worker that is only slow slower still.
        """
        reached = reached or {}
        standing = {
            partition: self.standing.get(partition, 0) + 1
            for partition, position in now.items()
            if partition in self.seen
            and self._stands(self.seen[partition], position)
            and reached.get(partition) == self.reached.get(partition)
        }
        return Watch(self.held_messages, self.patience, dict(now), standing, dict(reached))

    def stalled(self, owned: frozenset[Partition]) -> list[Partition]:
        """Return the partitions that a worker has to answer for: its own, and everybody's when it has none."""
        stalled = sorted(partition for partition, looks in self.standing.items() if looks >= self.patience)
        return [partition for partition in stalled if partition in owned or not owned]

    def _stands(self, before: Position, now: Position) -> bool:
        if now.committed != before.committed or now.lag == 0:
            return False
        return now.end == before.end or now.lag > self.held_messages
