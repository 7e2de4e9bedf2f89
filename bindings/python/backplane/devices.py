"""What is on this machine: contexts and devices."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from . import _library as c

KINDS = ("unknown", "cpu", "integrated", "discrete", "virtual", "accelerator", "software")


@dataclass(frozen=True)
class DeviceInfo:
    """A device as it was found. Memory is in bytes, 0 where the device does not say."""

    id: str  # "vulkan:0"
    name: str
    kind: str  # one of KINDS
    backend: str
    identity: str  # of the chip: the same for one chip seen through two backends
    driver: str
    memory_total: int
    memory_free: int
    warning: str


def _info(record: c.DeviceRecord) -> DeviceInfo:
    def text(field: bytes) -> str:
        return field.decode(errors="replace")

    kind = KINDS[record.kind] if record.kind < len(KINDS) else "unknown"
    return DeviceInfo(text(record.id), text(record.name), kind, text(record.backend), text(record.identity), text(record.driver),
                      record.memory_total, record.memory_free, text(record.warning))


class Cancel:
    """Ends a call on another thread: give it to the call as `cancel`, then set() it. The call raises Cancelled soon."""

    def __init__(self) -> None:
        self._flag = ctypes.c_uint32(0)

    def set(self) -> None:
        """Ends the calls that it was given to, and those that it will be given to until clear()."""
        self._flag.value = 1

    def clear(self) -> None:
        """Makes it as new, for other calls."""
        self._flag.value = 0

    @property
    def is_set(self) -> bool:
        """Whether set() was called, and clear() not since."""
        return self._flag.value != 0


def cancel_of(cancel: Cancel | None):
    return None if cancel is None else ctypes.byref(cancel._flag)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Device(c.Handle):
    """An open device. Any thread."""

    kind = "device"

    @property
    def info(self) -> DeviceInfo:
        """The device as it is now: how much memory is free is asked anew."""
        record = c.DeviceRecord()
        c.call("device_get_info", self.pointer, ctypes.byref(record))
        return _info(record)

    def set_option(self, name: str, value: object) -> None:
        """An option by name: ("threads", 4). Raises Error: not_found names the options there are."""
        c.call("device_set_option", self.pointer, c.utf8(name), c.utf8(_text(value)))


class Context(c.Handle):
    """Everything that was found: modules, devices, and why others are not used. Any thread.

    module_paths: folders or module files, searched first. search_defaults: also where modules are by themselves, the package's own
    among them. cache: a folder for compiled kernels. log: called as log(level, text) from any thread, level 0 (debug) to 3 (error).
    probe: "automatic" (first contact with a driver in a child process), "always", "never". options: those of modules and of the host by
    name, {"cpu.threads": 4}; one that nobody takes is Error "invalid".
    """

    kind = "context"

    def __init__(self, *, module_paths: Sequence[str | os.PathLike] = (), search_defaults: bool = True, environment: bool = True,
                 device: str = "", cpu_mask: str = "", cache: str | os.PathLike | None = None,
                 state: str | os.PathLike | None = None, log: Callable[[int, str], None] | None = None,
                 probe: str = "automatic", options: Mapping[str, object] | None = None) -> None:
        probes = ("automatic", "always", "never")
        if probe not in probes:
            raise c.Error(f"probe is {probe!r}; give one of {', '.join(probes)}", "invalid")
        paths = [c.utf8(path) for path in module_paths]
        texts = [c.utf8(f"{name}={_text(value)}") for name, value in (options or {}).items()]
        wanted = c.ContextOptions(skip_defaults=not search_defaults, skip_environment=not environment,
                                  module_paths=(ctypes.c_char_p * len(paths))(*paths), module_path_count=len(paths),
                                  device_filter=c.utf8(device), cpu_mask=c.utf8(cpu_mask), probe=probes.index(probe),
                                  options=(ctypes.c_char_p * len(texts))(*texts), option_count=len(texts), strict_options=1)
        if cache is not None:
            wanted.cache_folder = c.utf8(cache)
        if state is not None:
            wanted.state_folder = c.utf8(state)
        if log is not None:
            self._log = c.LOG(lambda _, level, text: log(level, (text or b"").decode(errors="replace")))
            wanted.log = self._log
        super().__init__(c.made("context_create", ctypes.byref(wanted)))

    def devices(self) -> list[DeviceInfo]:
        """All of them, best first."""
        return [_info(record) for record in c.records("context_devices", c.DeviceRecord, self.pointer)]

    def open(self, device: str = "") -> Device:
        """The best device, or the best that a filter lets through: "vulkan:0", "cpu", "discrete", "name=*RTX*", "!cpu"."""
        return Device(c.made("device_open", self.pointer, c.utf8(device)))

    def report(self) -> dict:
        """What was searched, found, refused and chosen, and why (docs/discovery.md)."""
        return json.loads(c.text_of("context_report", self.pointer))

    def rescan(self) -> None:
        """Looks again. Open devices stay."""
        c.call("context_rescan", self.pointer)

    def close(self) -> None:
        """Gives back what it holds. Open devices and sessions stay as they are."""
        super().close()
        self._log = None  # called until then


def made_on(name: str, on: Context | Device | Sequence[Device], device: str, before: Sequence[object], behind: Sequence[object]) -> int:
    """What NAME gives on the best device of a Context (`device`: a filter), or NAME_on on devices, best first: arguments before these, and behind."""
    if isinstance(on, Context):
        return c.made(name, *before, on.pointer, c.utf8(device), *behind)
    several = [on] if isinstance(on, Device) else list(on)
    return c.made(name + "_on", *before, c.array_of(several), len(several), *behind)
