import gzip
import os
import pathlib
import shutil

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PENDIGITS = ROOT / "bench" / "data" / "pendigits"


@pytest.fixture(autouse=True, scope="session")
def no_profiles(tmp_path_factory):
    """Tests choose mappings as on a machine that was never tuned."""
    os.environ["HEDDLE_PROFILES"] = str(tmp_path_factory.mktemp("profiles") / "none.sqlite")


@pytest.fixture(scope="session")
def pendigits():
    """Rows and labels of the training and the test part."""
    parts = []
    for name in ("pendigits.tra.gz", "pendigits.tes.gz"):
        with gzip.open(PENDIGITS / name, "rt") as file:
            table = np.loadtxt(file, delimiter=",", dtype=np.float32)
        parts += [np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)]
    return parts


@pytest.fixture(scope="session")
def program():
    """The program `heddle` of the same build."""
    found = os.environ.get("HEDDLE_PROGRAM") or ROOT / "build" / "release" / "cli" / "heddle"
    if not shutil.which(str(found)):
        pytest.skip("the program heddle is not built")
    return str(found)
