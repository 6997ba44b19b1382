"""Gets Apache Kafka's jars by Maven and finds Java."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from streams.errors import ConfigError

POM = Path(__file__).parent / "pom.xml"
FOLDER = Path(__file__).parent.parent.parent / ".kafka" / "lib"
"""Where `make kafka` puts the jars; ignored by git."""

_COMPLETE = ".complete"
_FETCH_SECONDS = 300


def fetch(folder: Path = FOLDER) -> Path:
    """Return the folder with Kafka's jars, fetched once through Maven as the person has set it up.

    Raises:
        ConfigError: saying what is missing: Java 17 or newer, Maven, or an answer of its repository.
    """
    java()
    if _is_complete(folder):
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise ConfigError("Apache Kafka: expected Maven (`mvn`) on the PATH to fetch it, got none")
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
    try:
        subprocess.run(
            [maven, "-q", "-B", "-f", str(POM), *goal],
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_FETCH_SECONDS,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"Apache Kafka: expected Maven to fetch it, got {type(error).__name__}") from error
    (folder / _COMPLETE).write_bytes(POM.read_bytes())
    return folder


def found(folder: Path = FOLDER) -> Path:
    """Return the folder with Kafka's jars, without fetching.

    Raises:
        ConfigError: when they are not there or Java is not.
    """
    java()
    if not _is_complete(folder):
        raise ConfigError("TRODDEN_BROKER=kafka: expected Apache Kafka's jars in .kafka/lib; run `make kafka` once")
    return folder


def _is_complete(folder: Path) -> bool:
    """Tell whether what the POM names at present was fetched to its end."""
    stamp = folder / _COMPLETE
    return stamp.exists() and stamp.read_bytes() == POM.read_bytes()


def java() -> str:
    """Return the path of a Java 17 or newer.

    Raises:
        ConfigError: when there is none.
    """
    path = shutil.which("java")
    if path is None:
        raise ConfigError("Apache Kafka: expected Java 17 or newer on the PATH, got none")
    told = subprocess.run([path, "-version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    version = re.search(r'version "(\d+)', told.stderr)
    if version is None or int(version[1]) < 17:
        raise ConfigError(f"Apache Kafka: expected Java 17 or newer, got {told.stderr.splitlines()[:1]}")
    return path


def main() -> None:
    """Fetch the jars: what `make kafka` runs."""
    print(f"Apache Kafka is in {fetch()}")  # noqa: T201  # the answer to make


if __name__ == "__main__":
    main()
