"""What commands share to talk to a person: progress on the terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from deploy.importing import Stage


class Watching:
    """Progress of a job's stages on standard error: a line a stage, with a bar where the total is known."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            disable=quiet,
        )
        self._tasks: dict[str, TaskID] = {}

    def stage(self, stage: Stage) -> None:
        """Show the stage; one that follows another ends it."""
        if stage.name not in self._tasks:
            for task in self._tasks.values():
                self._finish(task)
            self._tasks[stage.name] = self._progress.add_task(stage.name, total=stage.total)
        self._progress.update(self._tasks[stage.name], completed=stage.done, total=stage.total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            for task in self._tasks.values():
                self._finish(task)
        self._progress.stop()

    def _finish(self, task: TaskID) -> None:
        current = self._progress.tasks[task]
        total = current.total or 1
        self._progress.update(task, completed=total, total=total)
