"""Counts what became of the functions that tests export."""

from collections import Counter


def pytest_terminal_summary(terminalreporter):
    outcomes = Counter(
        value
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "exported"
    )
    if outcomes:
        terminalreporter.section("exported functions")
        for outcome, count in outcomes.most_common():
            terminalreporter.write_line(f"{count:5} {outcome}")
