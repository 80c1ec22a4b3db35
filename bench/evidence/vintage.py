"""Whether a file of results was measured with the kernels of the code, and with what chooses among them."""
import json
import pathlib

import origins

#: Kernels of files that do not name them: origins.json of their folder does.
OF_ORIGINS = {"mlp_toman.json": [("cuda", "mlp-train")]}
#: What `choices` of a file and of the code name besides the templates: the space with its constraints and defaults, and the
#: weights of the cost model that heddle brings along.
CHOICES = {"spaces": "search space", "weights": "weights"}


def read(file: pathlib.Path) -> dict:
    """The document, with what origins.json knows of its kernels where it does not name them itself."""
    document = json.loads(file.read_text())
    known = origins.read(file.parent)
    entry = known["files"].get(file.name)
    if file.name not in OF_ORIGINS or "templates" in document or entry is None or entry["kernels"] is None:
        return document
    digests, found = known["kernels"][entry["kernels"]], {}
    for backend, family in OF_ORIGINS[file.name]:
        found.setdefault(backend, {})[family] = digests[backend][family]
    return {"commit": entry["commit"], "templates": found, "choices": digests.get("choices", {}), **document}


def templates(document: dict) -> dict:
    """The digests that a document names, by backend and family; empty if it names none."""
    if "templates" in document:
        return document["templates"]
    if "source_hash" in document:  # older files of mapping_table
        return {document["device"].split("|")[0]: {document["family"]: document["source_hash"]}}
    return {}


def families(document: dict) -> list[tuple[str, str]]:
    """(backend, family) of all kernels of a document."""
    return [(backend, family) for backend, digests in templates(document).items() for family in digests]


def choices(document: dict) -> dict:
    """Digests of the search space and of the weights that a document names for its kernels, by kind, backend and family; None
    where it names none."""
    named = document.get("choices", {})
    return {(kind, backend, family): named.get(kind, {}).get(backend, {}).get(family)
            for kind in CHOICES for backend, family in families(document)}


def older(file: pathlib.Path, digests: dict) -> list[str]:
    """Why the file does not speak of the kernels that have `digests`; empty if it does."""
    document = read(file)
    found = templates(document)
    reasons = []
    if not any(found.values()):
        reasons.append(f"{file.name} names no digest of its kernels")
    if not document.get("commit"):
        reasons.append(f"{file.name} names no commit")
    for backend, family in families(document):
        then, now = found[backend][family], digests.get(backend, {}).get(family)
        if then != now:
            reasons.append(f"{file.name} has {family} on {backend} of {then}, the code {now}")
    return reasons


def older_choices(file: pathlib.Path, digests: dict) -> list[str]:
    """Why "tuned" and "untuned" in the file are not what they are in the code that has `digests`; empty if they are. A
    file that does not tell counts as older."""
    found = choices(read(file))
    now = {key: digests.get("choices", {}).get(key[0], {}).get(key[1], {}).get(key[2]) for key in found}
    reasons = [f"{file.name} has for {family} on {backend} {CHOICES[kind]} of {then}, the code {now[kind, backend, family]}"
               for (kind, backend, family), then in found.items() if then != now[kind, backend, family]]
    return reasons
