"""The error tree of the project.

TroddenError
├── TransientError          the world is not ready: retry with backoff, do not commit
│   ├── BrokerUnavailable   the broker did not answer in time
│   ├── PartitionLost       another member of the group owns the partition by now
│   ├── GroupStalled        a consumer group stands still although there is work: start again
│   ├── RecordSkipped       a client library passed over a record: start again from the committed offset
│   └── StorageUnavailable  the disk or object store refused a write
└── TerminalError           retrying cannot help: dead-letter with reason and position
    ├── DecodeError         bytes that are no event of ours
    ├── SchemaError         an event of a kind or version nobody here can read
    ├── SourceError         a source file or payload that cannot be translated
    ├── ConfigError         a setting or argument that cannot work
    └── DlqLimitExceeded    so many dead letters that the input itself must be wrong

A caller's mistake raises `ValueError`. A message says what was expected and what came.
"""

from __future__ import annotations


class TroddenError(Exception):
    """Base of every error that this project raises on purpose."""


class TransientError(TroddenError):
    """The same call may work later: retry with backoff and commit nothing."""


class BrokerUnavailable(TransientError):
    """The broker did not answer within its deadline."""


class PartitionLost(TransientError):
    """A partition moved to another member: drop what is held of it; its owner reads it again."""


class GroupStalled(TransientError):
    """A consumer group stands still although there is work: end this process and start it again."""


class RecordSkipped(TransientError):
    """A record did not come although later ones did: start again from the committed offset."""


class StorageUnavailable(TransientError):
    """A file or object store refused a write or a rename."""


class TerminalError(TroddenError):
    """The same call will fail for ever: keep the bytes as a dead letter and go on."""


class DecodeError(TerminalError):
    """Bytes that cannot be read as the events they should be."""


class SchemaError(TerminalError):
    """A well-formed event of an unknown kind or of a version out of reach."""


class SourceError(TerminalError):
    """A source file or payload that an adapter cannot translate."""


class ConfigError(TerminalError):
    """A setting or argument that cannot work; the message names it and its allowed values."""


class DlqLimitExceeded(TerminalError):
    """More dead letters than the budget allows: stop loudly instead of draining the topic."""
