"""Every setting of Trodden, read once from `TRODDEN_*` variables.

Source of defaults: the specification where it gives one, else the measured facts named beside the field.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from correlator.window import DEFAULT_POLICY, CorrelatorPolicy, policy_named
from streams.errors import ConfigError


class Settings(BaseSettings):
    """What an operator may set; the name of the variable is `TRODDEN_` and the field's name in capitals."""

    model_config = SettingsConfigDict(env_prefix="TRODDEN_", frozen=True, extra="ignore", use_attribute_docstrings=True)

    data: Path = Path("~/.trodden")
    """Folder of everything Trodden keeps: Parquet tables, catalog.duckdb, the search store, the import ledger."""
    broker: str = ""
    """Empty: the embedded broker, started and stopped with the command. `kafka`: a managed single-node
    Apache Kafka (Java 17 or newer). `host:port[,host:port]`: yours."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How clients speak to the broker."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    """SASL mechanism, used with the two SASL protocols."""
    sasl_username: str = ""
    """SASL user."""
    sasl_password: SecretStr = SecretStr("")
    """SASL password; never logged."""
    ssl_cafile: Path | None = None
    """PEM file with the certificate authorities to trust; empty trusts the system's."""
    session_seconds: float = Field(default=6.0, ge=1)
    """A worker that says nothing for so long is taken for dead and its partitions move."""
    partitions: int = Field(default=4, ge=1, le=1024)
    """Partitions of a topic at its creation. Growing it later moves keys: see docs/guides/streams.md."""
    flush_rows: int = Field(default=5000, ge=1)
    """Rows of a table that the sink lands at the latest."""
    flush_seconds: float = Field(default=1.0, gt=0)
    """Seconds after which the sink lands what it holds."""
    flush_idle_seconds: float = Field(default=1.0, gt=0)
    """Seconds without a new record after which the sink lands what it holds, if that is earlier."""
    retention_days: dict[str, int] = {}
    """Days that a table keeps, as JSON such as `{"tool_events": 90, "dead_letters": 30}`; a table not named keeps
    everything. Applied by `trodden compact`."""
    compact_minutes: float = Field(default=60.0, gt=0)
    """Minutes between two compactions of closed days by the compactor."""
    window: str = DEFAULT_POLICY.window.name
    """How near a call must be to a search to be its consumption: `compound-v1`, `capped-v1` or `coding-v1`;
    `trodden window-report` says what each of them changes."""
    idle_minutes: float = Field(default=DEFAULT_POLICY.idle_timeout / timedelta(minutes=1), gt=0)
    """Event time without a call after which an invocation without an end is closed."""
    rerank: Literal["off", "shadow", "on"] = "off"
    """Whether consumption priors change the order of search results, are only logged, or are not used."""
    estimator: Literal["spec", "calibrated"] = "spec"
    """Which of the two estimators ranks; the other one is logged in shadow."""
    priors_minutes: float = Field(default=60.0, gt=0)
    """Minutes between two runs of the prior job in `trodden up`."""
    interleave: bool = False
    """Whether searches show a draft of both orders, so that agents decide which one is better."""
    explore: float = Field(default=0.0, ge=0, le=0.2)
    """Share of searches that give rank 4 to a document hardly ever shown; 0 explores nothing."""
    embeddings: str = "off"
    """Embedding provider: `off`, `bundled`, `http:URL`, or `onnx-dir:PATH`."""
    claude_config_dir: Path = Path("~/.claude")
    """Where Claude Code keeps its transcripts (`projects/` below it)."""
    host: str = "127.0.0.1"
    """Address that the Hub and the API listen on."""
    port: int = Field(default=8420, ge=0, le=65535)
    """Port of the Hub and the API; 0 picks a free one."""
    collector_port: int = Field(default=8421, ge=0, le=65535)
    """Port of the collector of hooks, traces and events (`trodden worker collector`)."""
    token: SecretStr = SecretStr("")
    """Bearer token of the API and the collector; required unless `host` is a loopback address."""
    metrics_port: int = Field(default=0, ge=0, le=65535)
    """First port of the roles' `/metrics` and `/healthz`; 0 serves none."""

    @field_validator("window")
    @classmethod
    def _known(cls, name: str) -> str:
        return policy_named(name).name

    @property
    def policy(self) -> CorrelatorPolicy:
        """By which rules calls are attributed to searches."""
        idle = timedelta(minutes=self.idle_minutes)
        return replace(DEFAULT_POLICY, window=policy_named(self.window), idle_timeout=idle)

    @property
    def data_dir(self) -> Path:
        """The data folder as an absolute path."""
        return self.data.expanduser().resolve()

    @property
    def tables_dir(self) -> Path:
        """Parquet tables."""
        return self.data_dir / "tables"

    @property
    def memory_dir(self) -> Path:
        """The search store: index.sqlite and state.sqlite."""
        return self.data_dir / "memory"

    @property
    def ranking_dir(self) -> Path:
        """What the ranking remembers: published anchors, verdicts, overrides."""
        return self.data_dir / "ranking"

    @property
    def ledger_path(self) -> Path:
        """What has been published by imports."""
        return self.data_dir / "ledger.sqlite"


def load(**overrides: object) -> Settings:
    """Read the settings; `overrides` (from command-line options) win over the environment, None is no override.

    Raises:
        ConfigError: naming the variable, what was expected and what came.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)  # type: ignore[arg-type]  # pydantic validates what the options gave
    except ValidationError as error:
        lines = [f"TRODDEN_{str(e['loc'][0]).upper()}: {e['msg']}, got {e['input']!r}" for e in error.errors()]
        raise ConfigError("; ".join(lines)) from None
