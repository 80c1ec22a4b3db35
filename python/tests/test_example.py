"""The README's example is examples/train.py, and it runs."""

import subprocess
import sys

from conftest import PENDIGITS, ROOT


def test_the_readmes_example():
    example = (ROOT / "examples" / "train.py").read_text()
    assert example in (ROOT / "README.md").read_text()
    ran = subprocess.run(
        [sys.executable, ROOT / "examples" / "train.py", PENDIGITS], check=True, capture_output=True, text=True
    )
    lines = ran.stdout.splitlines()
    assert float(lines[0].split()[1]) > 0.95
    assert lines[2].startswith("   1  IF input 1 is low and input 2 is low THEN output 1 = ")
