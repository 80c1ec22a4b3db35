"""How long `heddle-report` takes for a database of 100000 measurements, each time in a process of its own.

usage: report.py [MEASUREMENTS [TURNS]]     the package heddle is installed, with its extra `report`
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"))
from database import add_evidence, add_measurements, empty  # noqa: E402


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        file, page = pathlib.Path(folder) / "profiles.db", pathlib.Path(folder) / "report.html"
        connection = empty(file)
        records = add_evidence(connection)
        add_measurements(connection, records, count)
        kept = connection.execute("SELECT count(*) FROM measurements").fetchone()[0]
        connection.close()
        walls, cpus = [], []
        for _ in range(turns):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-m", "heddle.reports", file, "-o", page], check=True, stdout=subprocess.DEVNULL)
            walls.append(time.perf_counter() - begun)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        print(f"{kept} measurements, {len(records)} profiles, {file.stat().st_size / 1e6:.1f} MB: a page of "
              f"{page.stat().st_size / 1e6:.1f} MB in {statistics.median(walls):.2f} s (median of {turns}, {min(walls):.2f} to "
              f"{max(walls):.2f}), {statistics.median(cpus):.2f} s of a processor; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
