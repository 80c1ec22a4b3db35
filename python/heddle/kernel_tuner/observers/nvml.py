"""Power, energy, clocks and temperature of a GPU, by NVML (the package nvidia-ml-py)."""

from __future__ import annotations

import threading
from time import perf_counter

from heddle.errors import DeviceError
from heddle.kernel_tuner.observers import BenchmarkObserver

_POWER = ["power_readings", "nvml_power", "nvml_energy"]
_OTHERS = {"core_freq": "MHz", "mem_freq": "MHz", "temperature": "degrees Celsius"}


class NVMLObserver(BenchmarkObserver):
    """Adds what NVML says to each result.

    Parameters
    ----------
    observables : list of str
        ``"nvml_power"`` (watts), ``"nvml_energy"`` (joules of one launch), ``"power_readings"`` (seconds and watts),
        ``"core_freq"``, ``"mem_freq"`` (MHz), ``"temperature"`` (degrees Celsius). Each is read some hundred times a second
        while the kernel runs for `continuous_duration`.
    device : int, optional
        The GPU's number; by default the one that is tuned for.
    continuous_duration : float
        Seconds. The meters of most GPUs tell the mean of the last 0.1 s or so.

    Raises
    ------
    ValueError
        An observable that there is none of.
    DeviceError
        NVML cannot be had.
    """

    def __init__(self, observables, device=None, save_all=False, nvidia_smi_fallback=None, use_locked_clocks=False,
                 continuous_duration=1):
        for name in observables:
            if name not in (*_POWER, *_OTHERS):
                raise ValueError(f"observables: found {name!r}, expected of {', '.join([*_POWER, *_OTHERS])}")
        self.observables, self.number, self.seconds = list(observables), device, float(continuous_duration)

    def register_device(self, dev):
        super().register_device(dev)
        try:
            import pynvml

            pynvml.nvmlInit()
            number = self.number
            if number is None:
                number = int(dev["label"].split(":")[1])
            self._nvml, self._card = pynvml, pynvml.nvmlDeviceGetHandleByIndex(number)
        except ImportError:
            raise DeviceError("NVMLObserver: the package nvidia-ml-py is not installed") from None
        except Exception as error:  # NVML's own classes, and a device that is no GPU
            raise DeviceError(f"NVMLObserver: {dev['label']}: {error}") from None

    def _read(self) -> dict:
        nvml, card = self._nvml, self._card
        read = {
            "core_freq": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM),
            "mem_freq": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM),
            "temperature": lambda: nvml.nvmlDeviceGetTemperature(card, nvml.NVML_TEMPERATURE_GPU),
        }
        found = {name: float(ask()) for name, ask in read.items() if name in self.observables}
        if any(name in self.observables for name in _POWER):
            found["power"] = nvml.nvmlDeviceGetPowerUsage(card) / 1000
        return found

    def run_continuously(self, run, measured) -> dict:
        """Runs the kernel for seconds, `run(seconds)`, and reads the meters meanwhile."""
        readings: list[tuple[float, dict]] = []
        ended = threading.Event()

        def watch():
            begin = perf_counter()
            while not ended.wait(0.002):
                readings.append((perf_counter() - begin, self._read()))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            run(self.seconds)
        finally:
            ended.set()
            watcher.join()
        half = readings[len(readings) // 2 :] or [(0.0, self._read())]  # the meters lag behind
        mean = {name: sum(values[name] for _, values in half) / len(half) for name in half[0][1]}
        results = {name: mean[name] for name in _OTHERS if name in mean}
        if "nvml_power" in self.observables:
            results["nvml_power"] = mean["power"]
        if "nvml_energy" in self.observables:
            results["nvml_energy"] = mean["power"] * measured["time"] / 1000
        if "power_readings" in self.observables:
            results["power_readings"] = [[second, values["power"]] for second, values in readings]
        return results
