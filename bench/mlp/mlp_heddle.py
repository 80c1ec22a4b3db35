"""What the scripts of this folder ask heddle's programs, and how they name networks."""
import json
import math
import pathlib
import signal
import subprocess
import sys


def name_of(sizes, rows, batch):
    """784-128-10x65536:64: sizes, rows, and the rows of a step unless it takes all."""
    return "-".join(map(str, sizes)) + f"x{rows}" + ("" if batch == rows else f":{batch}")


def bits_of(sizes):
    """Of a number of a row: networks with 784 inputs learn digits, whose pixels are bytes; all others real numbers."""
    return 8 if sizes[0] == 784 else 32


def weights_of(sizes):
    return sum(n * (m + 1) for m, n in zip(sizes, sizes[1:]))


def mean(ratios):
    """The geometric one."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def end_when_asked():
    """SIGTERM ends the program as an error would, so that it still prints what it has."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{sys.argv[0]}: {' '.join(map(str, command[:2]))}: {done.stderr.strip()}")
    return done.stdout


def tune(heddle, device, sizes, rows, batch, *words):
    """The document of `heddle tune` about one network; `words`: its budget, for instance."""
    hidden = sizes[1:-1] + [0] * (8 - len(sizes[1:-1]))
    named = " ".join(f"hidden{i}={n}" for i, n in enumerate(hidden, 1))
    return tune_problem(heddle, device, f"inputs={sizes[0]} {named} outputs={sizes[-1]} rows={rows} batch={batch} "
                        f"input_bits={bits_of(sizes)}", *words)


def tune_problem(heddle, device, problem, *words):
    """The same of a problem as a training names it."""
    return json.loads(run([heddle, "tune", "--family", "mlp-train", "--device", device, *(f"--{size}" for size in problem.split()),
                           *words, "--json", "--quiet"]))


def tuned(document, batch):
    """Microseconds of a step, by way; nothing if nothing was verified in the budget."""
    result = document["results"][0]
    profile, untuned = result["profile"], result["baseline"]
    if profile is None or untuned is None or untuned["microseconds_per_sample"] is None:
        return None
    return {"chosen": profile["microseconds_per_sample"] * batch, "configuration": profile["configuration"],
            "untuned": untuned["microseconds_per_sample"] * batch, "untuned_configuration": untuned["configuration"],
            "samples": result["samples"], "units": document["identity"]["units"], "name": document["identity"]["name"],
            "templates": {document["identity"]["backend"]: {profile["family"]: profile["source_hash"]}},
            "named": {each["name"]: each["microseconds_per_sample"] * batch for each in result["named"]
                      if each["microseconds_per_sample"] is not None}}


def explored(explore, device, sizes, rows, batch, samples, *words):
    """Microseconds of a step, by configuration, those by turns where a configuration has both; and what failed."""
    hidden = sizes[1:-1] + [0] * (8 - len(sizes[1:-1]))
    problem = "x".join(map(str, [sizes[0], *hidden, sizes[-1], rows, batch, bits_of(sizes)]))
    return read_explored(run([explore, "--device", device, "--family", "mlp-train", "--problems", problem, "--samples",
                              samples, *words]), batch)


def read_explored(text, batch):
    times = {}
    for line in text.splitlines():
        words = line.removeprefix("  by turns").split()
        if len(words) > 1 and words[1].startswith("scheme=") and words[0] != "failed":
            configuration = " ".join(word for word in words[1:] if "=" in word)
            times[configuration] = float(words[0]) * batch
    return times


def number(value):
    return "–" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def markdown(header, rows):
    """A table; None is not known."""
    print("| " + " | ".join(header) + " |\n|---|" + "--:|" * (len(header) - 2) + "---|")
    for row in rows:
        print("| " + " | ".join(number(cell) if cell is None or isinstance(cell, float) else str(cell) for cell in row) + " |")
    sys.stdout.flush()


def pytorch_times(file, per="step"):
    """Microseconds of a step or an epoch in PyTorch, by network and (way, TF32); only of what agreed with float64."""
    times = {}
    for row in json.loads(pathlib.Path(file).read_text())["rows"] if file and pathlib.Path(file).exists() else []:
        if row.get("ok"):
            network, _, *batch = row["cell"].split(":")  # "784-128-10x65536:adam:64" without the rule
            times.setdefault(":".join([network, *batch]), {})[row["way"], row["tf32"]] = row[f"microseconds_per_{per}"]
    return times


def bar(what, value, most, unit):
    """A line: what was to be reached, and whether it was."""
    print(f"- {what}: {'not measured' if value is None else f'{number(value)} {unit}'}, bar {most} {unit}: "
          f"{'–' if value is None else 'reached' if value <= most else '**not reached**'}")
