#!/usr/bin/env python3
"""Which commit and which kernels the files of a folder of results were measured with, and whether they still are as they
were measured: origins.json in the folder.

    bench/evidence/origins.py note BUILD FOLDER COMMIT NAME...   these files have just been measured with BUILD
    bench/evidence/origins.py keep FROM TO [NAME...]             copies files, all that were noted if none is named, with
                                                                what is known of them
    bench/evidence/origins.py drop FOLDER NAME...                removes files that others replace, with what is known of them
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

NAME = "origins.json"
MEASURED = (".csv", ".json", ".jsonl", ".txt")  # Markdown and plots are made from these


def read(folder: pathlib.Path) -> dict:
    """`kernels`: what template_digests printed, by the digest of that; `files`: commit, kernels (the key of the other, or
    null), sha256 and, where there was a GPU, its card(), by name; `older`: names of files that were measured before origins
    were kept."""
    file = folder / NAME
    return {"kernels": {}, "files": {}, "older": [], **(json.loads(file.read_text()) if file.exists() else {})}


def write(folder: pathlib.Path, origins: dict) -> None:
    used = {entry["kernels"] for entry in origins["files"].values()}
    kept = {"kernels": {key: value for key, value in sorted(origins["kernels"].items()) if key in used},
            "files": dict(sorted(origins["files"].items())),
            "older": sorted(set(origins["older"]) - set(origins["files"]))}
    fresh = folder / (NAME + ".new")
    fresh.write_text(json.dumps(kept, indent=1) + "\n")
    fresh.replace(folder / NAME)


def digest(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def kernels_of(build: pathlib.Path) -> dict | None:
    """What the program of BUILD says of its templates; nothing if there is no such program, or it does not run here."""
    try:
        return json.loads(subprocess.run([build / "bench" / "template_digests"], check=True, capture_output=True).stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None


def card() -> str | None:
    """Tells the GPU that programs here see first from others of its model: the beginning of a digest of its UUID. Nothing
    without a GPU."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    try:
        uuid = subprocess.run(["nvidia-smi", f"--id={first}", "--query-gpu=uuid", "--format=csv,noheader"], check=True,
                              capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    return hashlib.sha256(uuid.encode()).hexdigest()[:8]


def same_card(folder: pathlib.Path, one: str, other: str) -> bool | None:
    """Whether two files were measured on one GPU by one commit; nothing where that is not known."""
    entries = [read(folder)["files"].get(name, {}) for name in (one, other)]
    if not all("card" in entry for entry in entries):
        return None
    return all(entries[0][key] == entries[1][key] for key in ("card", "commit"))


def beside(file: pathlib.Path, other: pathlib.Path) -> str:
    """In words: whether another file of its folder was measured on the same card and by the same commit."""
    return {True: "on the same card, by the same commit", False: "on another card, or by another commit",
            None: "at another time, perhaps on another card"}[same_card(file.parent, file.name, other.name)]


def note(build: pathlib.Path, folder: pathlib.Path, commit: str, names: list[str]) -> None:
    origins = read(folder)
    kernels, key = kernels_of(build), None
    if kernels is not None:
        key = hashlib.sha256(json.dumps(kernels, sort_keys=True).encode()).hexdigest()[:16]
        origins["kernels"][key] = kernels
    here = card()
    of_card = {"card": here} if here else {}
    for name in names:
        origins["files"][name] = {"commit": commit, "kernels": key, "sha256": digest(folder / name), **of_card}
    write(folder, origins)


def keep(source: pathlib.Path, target: pathlib.Path, names: list[str]) -> None:
    known, origins = read(source), read(target)
    target.mkdir(parents=True, exist_ok=True)
    origins["kernels"].update(known["kernels"])
    for name in names or known["files"]:
        shutil.copyfile(source / name, target / name)
        origins["files"].pop(name, None)
        if name in known["files"]:
            origins["files"][name] = known["files"][name]
    write(target, origins)


def drop(folder: pathlib.Path, names: list[str]) -> None:
    origins = read(folder)
    known = [*origins["files"], *origins["older"]]
    for name in names:
        if name not in known:
            sys.exit(f"origins: {folder / NAME} does not name {name}")
    for name in names:
        (folder / name).unlink(missing_ok=True)
        origins["files"].pop(name, None)
    write(folder, {**origins, "older": [name for name in origins["older"] if name not in names]})


def measured(folder: pathlib.Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.suffix in MEASURED and file.name != NAME)


def wrong(folder: pathlib.Path) -> list[str]:
    """What is not as it was measured, or of unknown origin."""
    found, origins = [], read(folder)
    for name, entry in origins["files"].items():
        file = folder / name
        if not file.exists():
            found.append(f"{folder.name}/{name} is gone; {NAME} still names it")
        elif digest(file) != entry["sha256"]:
            found.append(f"{folder.name}/{name} is not what was measured: its sha256 is not that in {NAME}")
    there = measured(folder)
    found += [f"{folder.name}/{name} has no origin: {NAME} names neither its commit nor it among the older ones"
              for name in there if name not in origins["files"] and name not in origins["older"]]
    found += [f"{folder.name}/{name} is gone; {NAME} still names it among the older ones"
              for name in origins["older"] if name not in there]
    return found


def main(words: list[str]) -> int:
    if len(words) > 4 and words[0] == "note":
        note(pathlib.Path(words[1]), pathlib.Path(words[2]), words[3], words[4:])
    elif len(words) > 2 and words[0] == "keep":
        keep(pathlib.Path(words[1]), pathlib.Path(words[2]), words[3:])
    elif len(words) > 2 and words[0] == "drop":
        drop(pathlib.Path(words[1]), words[2:])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
