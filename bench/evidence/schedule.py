#!/usr/bin/env python3
"""Runs parts of the evidence scripts in a given time, the most valuable first; called by gpu_evidence --seconds.

    schedule.py SECONDS BUILD OUTPUT DATA [--list] [PART...]

The parts, their order, how long each may take and what it needs stand in the table of README.md beside this file. A part that
is not done yet comes first, then one that failed or was stopped; one that is done with the templates of now is not done
again. What lacks a tool or would not end in time is left out, and the next one that fits is taken. A part runs alone, in a
session of its own: at its limit all processes of it are asked to stop (SIGTERM), and killed KILL_AFTER seconds later. OUTPUT/parts.json says how each
ended. --list only says what would be run. Exit code: 0 if all parts that were begun are done, 1 if not,
2 for wrong words, 4 if the programs do not run on this machine.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
#: Seconds between SIGTERM and SIGKILL: a search that is asked to stop ends its kernel and writes what it has.
KILL_AFTER = 10
ROW = re.compile(r"^\| `(?P<name>[\w/]+)` \| (?P<seconds>\d+) \|(?P<needs>[^|]*)\| (?P<shows>.*) \|$")


def parts_of(text):
    """The rows of the table, in its order."""
    parts = [row.groupdict() for row in map(ROW.match, text.splitlines()) if row]
    for part in parts:
        part["seconds"] = int(part["seconds"])
        part["needs"] = [word.strip() for word in part["needs"].split(",") if word.strip()]
    return parts


def lacking(needs, data, environment=os.environ):
    """What of a part's needs is not here: a program, `module NAME` of Python,
    `$VARIABLE` with a file's name, `data NAME`, or `gpus N`."""
    for need in needs:
        if need.startswith("$"):
            if not environment.get(need[1:]):
                return f"{need[1:]} is not set"
            if not os.path.exists(environment[need[1:]]):
                return f"{need[1:]} names no file: {environment[need[1:]]}"
        elif need.startswith("module "):
            name = need.split()[1]
            python = environment.get("PYTHON", "python3")
            known = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
            if subprocess.run([python, "-c", known], check=False).returncode != 0:
                return f"{python} has no {name}"
        elif need.startswith("data "):
            if not any(pathlib.Path(data).rglob(need.split()[1])):
                return f"DATA has no {need.split()[1]}"
        elif need.startswith("gpus "):
            tool = shutil.which("nvidia-smi")
            found = subprocess.run([tool, "-L"], capture_output=True, text=True, check=False).stdout.count("GPU ") if tool else 0
            if found < int(need.split()[1]):
                return f"it needs {need.split()[1]} GPUs, found {found}"
        elif shutil.which(need) is None:
            return f"{need} is not installed"
    return None


def in_order(parts, record, vintage):
    """Those to do: never tried with these templates, then those that did not end well; without those that are done."""
    def status(part):
        entry = record.get(part["name"], {})
        # What is made of other parts' results is made anew with them.
        made_of_results = part["name"].endswith("tables")
        return entry.get("status") if vintage is not None and entry.get("vintage") == vintage and not made_of_results else None

    return [part for part in parts if status(part) is None] + [
        part for part in parts if status(part) not in (None, "done")]


def run_all(parts, seconds, data, run, say, clock=time.monotonic):
    """Runs what fits, in this order. `run` gets a part."""
    end = clock() + seconds
    later = []
    for part in parts:
        lack = lacking(part["needs"], data)
        left = end - clock()
        if lack:
            say(f"{part['name']}: left out, {lack}")
        elif part["seconds"] > left:
            later.append(f"{part['name']} ({part['seconds']} s)")
        else:
            run(part)
    if later:
        say(f"for another call, {max(end - clock(), 0):.0f} s are left: {', '.join(later)}")


def of_session(session):
    """The processes of a session: groups of their own, as `timeout` makes them, do not leave it."""
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = each.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        if int(words[3]) == session and words[0] != "Z":
            found.append(int(each.parent.name))
    return found


def end_session(session, number):
    for process in of_session(session):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def run_in(command, seconds, kill_after=KILL_AFTER, **options):
    """"done", "failed", or "stopped" at the limit. No process of the command is left behind, whatever happens."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        try:
            return "done" if process.wait(timeout=max(seconds - kill_after, 1)) == 0 else "failed"
        except subprocess.TimeoutExpired:
            end_session(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=kill_after)
            except subprocess.TimeoutExpired:
                pass
            return "stopped"
    finally:
        while of_session(process.pid):
            end_session(process.pid, signal.SIGKILL)
            time.sleep(0.05)
        process.wait()


def command_of(name, build, output, data, environment=os.environ):
    """`choice/wide` is part wide of choice_evidence; a name without a script is a part of gpu_evidence."""
    script, _, part = name.rpartition("/")
    script = script or "gpu"
    extra = {"gpu": [data], "mlp": [data], "tsk": [data],
             "own": [environment.get("BAT", "-"), environment.get("PYTHON", "python3")],
             "python": [environment.get("KERNEL_TUNER", "-"), environment.get("PYTHON", "python3")]}.get(script, [])
    return [str(HERE / f"{script}_evidence"), build, output, *extra, part]


def vintage_of(build):
    """Of the templates that this build measures; without the program that tells them, nothing counts as done."""
    program = os.path.join(build, "bench", "template_digests")
    if not os.path.exists(program):
        return None
    told = subprocess.run([program], check=False, capture_output=True)
    if told.returncode != 0:
        word = told.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {told.returncode}"]
        print(f"gpu_evidence: the programs of BUILD do not run here: {word[0]}", file=sys.stderr)
        sys.exit(4)
    return hashlib.sha256(told.stdout).hexdigest()[:16]


def main(words):
    listed = "--list" in words
    words = [word for word in words if word != "--list"]
    if len(words) < 4 or not re.fullmatch(r"\d+", words[0]):
        print("gpu_evidence: expected --seconds N BUILD OUTPUT DATA and parts, N a whole number", file=sys.stderr)
        return 2
    seconds, (build, output, data), names = int(words[0]), map(os.path.abspath, words[1:4]), words[4:]
    table = parts_of((HERE / "README.md").read_text(encoding="utf-8"))
    known = {part["name"]: part for part in table}
    for name in names:
        if name not in known:
            print(f"gpu_evidence: found part '{name}', expected some of {' '.join(known)}", file=sys.stderr)
            return 2
    wanted = [known[name] for name in names] or table
    os.makedirs(output, exist_ok=True)
    file = pathlib.Path(output, "parts.json")
    record = json.loads(file.read_text()) if file.exists() else {}
    vintage = vintage_of(build)
    ended, planned = [], []

    def say(line):
        print(line, flush=True)

    def plan(part):
        planned.append(part["seconds"])
        say(f"{part['name']}: at most {part['seconds']} s; {part['shows']}")

    def run(part):
        start = time.monotonic()
        status = "stopped"
        try:
            status = run_in(command_of(part["name"], build, output, data), part["seconds"])
        finally:
            took = round(time.monotonic() - start)
            ended.append(status)
            record[part["name"]] = {"status": status, "seconds": took, "vintage": vintage,
                                    "commit": os.environ.get("HEDDLE_COMMIT", "unknown"),
                                    "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
            fresh = file.with_suffix(".new")
            fresh.write_text(json.dumps(record, indent=1) + "\n")
            fresh.replace(file)
            say(f"{part['name']}: {status} after {took} s of at most {part['seconds']}")

    try:
        order = in_order(wanted, record, vintage)
        if listed:
            run_all(order, seconds, data, plan, say, clock=lambda: sum(planned))
        else:
            run_all(order, seconds, data, run, say)
    except KeyboardInterrupt:
        return 130
    return 0 if all(status == "done" for status in ended) else 1


def interrupted(_number, _frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    sys.exit(main(sys.argv[1:]))
