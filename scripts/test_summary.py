#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up the JUnit reports of ctest and pytest and ends with one line 'N passed, N failed, N skipped'.

    test_summary.py REPORT.xml...

A report that is missing or holds no test counts as one failure: a runner that died is no success.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def cases(report: pathlib.Path):
    try:
        yield from ElementTree.parse(report).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"{report}: {error}", file=sys.stderr)


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def main() -> int:
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for report in map(pathlib.Path, sys.argv[1:]):
        found = list(cases(report))
        if not found:
            print(f"{report}: no tests", file=sys.stderr)
            count["failed"] += 1
        for case in found:
            result = outcome(case)
            count[result] += 1
            if result == "failed":
                print(f"FAILED {case.get('classname', '')} {case.get('name', '')}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
