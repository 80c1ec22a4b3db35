#!/usr/bin/env python3
"""What CTest's failed tests printed last, so that it stands at the end of a long log.

    scripts/failed_tests.py RESULTS.xml

RESULTS.xml is what `ctest --output-junit` wrote; a file that is not there holds no failed test.
"""
import pathlib
import sys
import xml.etree.ElementTree as tree

LINES = 25  # of each test

results = pathlib.Path(sys.argv[1])
for case in tree.parse(results).iter("testcase") if results.exists() else ():
    if case.get("status") == "fail":
        printed = (case.findtext("system-out") or "").splitlines()
        print(f"\n== failed: {case.get('name')}", *printed[-LINES:], sep="\n")
