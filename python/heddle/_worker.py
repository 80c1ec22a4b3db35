"""A process that measures kernels for a tuner, or compiles for one. Started by its path, so that the package, with all that
it imports, is not loaded for it.

python -I -S _worker.py worker|compiler
"""

import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).absolute()


def command(role: str) -> list[str]:
    """What starts such a process."""
    return [sys.executable, "-I", "-S", str(HERE), role]


if __name__ == "__main__":
    (_file,) = sorted(HERE.parent.glob("_heddle*.so"))[:1]
    _spec = importlib.util.spec_from_file_location("_heddle", _file)
    _heddle = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_heddle)
    sys.exit(_heddle.serve_tuner(command("compiler") if sys.argv[1:] == ["worker"] else []))
