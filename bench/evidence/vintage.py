"""Whether a file of results was measured with the kernels of the code."""
import json
import pathlib


def templates(document: dict) -> dict:
    """The digests that a document names, by backend and family; empty if it names none."""
    if "templates" in document:
        return document["templates"]
    if "source_hash" in document:  # older files of mapping_table
        return {document["device"].split("|")[0]: {document["family"]: document["source_hash"]}}
    return {}


def older(file: pathlib.Path, digests: dict) -> list[str]:
    """Why the file does not speak of the kernels that have `digests`; empty if it does."""
    document = json.loads(file.read_text())
    found = templates(document)
    reasons = []
    if not any(found.values()):
        reasons.append(f"{file.name} names no digest of its kernels")
    if not document.get("commit"):
        reasons.append(f"{file.name} names no commit")
    for backend, families in found.items():
        for family, digest in families.items():
            now = digests.get(backend, {}).get(family)
            if digest != now:
                reasons.append(f"{file.name} has {family} on {backend} of {digest}, the code {now}")
    return reasons
