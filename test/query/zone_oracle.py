"""What Python's zoneinfo says of time zones, with the rules of the package tzdata: none of it shares code with the service.

Reads one question from standard input, JSON, and writes its answer:
  {"ask": "about"}                       -> {"version", "folder", "names"}
  {"ask": "offsets", "zones": {name: {"changes": [...], "offsets": [...]}}}  -> what differs, the first of each zone
  {"ask": "walls", "zones": {name: [wall seconds, ...]}}                     -> {name: [utc seconds, ...]}
  {"ask": "windows", "cases": [[name, unit, utc seconds], ...]}              -> [[start, end], ...] in utc seconds
"""
import bisect
import datetime as dt
import json
import os
import random
import sys
import zoneinfo

import tzdata

zoneinfo.reset_tzpath(to=[])
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
SECOND = dt.timedelta(seconds=1)
FIRST = dt.datetime(1684, 8, 1, tzinfo=UTC)
LAST = dt.datetime(2255, 6, 1, tzinfo=UTC)


def seconds(moment):
    return (moment - EPOCH) // SECOND


def moment(at):
    return EPOCH + at * SECOND


def offset(zone, at):
    return moment(at).astimezone(zone).utcoffset() // SECOND


def offsets(zones):
    first, last = seconds(FIRST), seconds(LAST)
    grid = range(seconds(dt.datetime(1840, 1, 1, tzinfo=UTC)), seconds(dt.datetime(2105, 1, 1, tzinfo=UTC)), 20 * 86400)
    wrong = {}
    for name, rules in zones.items():
        zone, changes = zoneinfo.ZoneInfo(name), rules["changes"]
        times = {first, last, *grid}
        times.update(random.randint(first, last) for _ in range(300))
        times.update(at + step for at in changes if first < at < last for step in (-1, 0))
        for at in sorted(times):
            ours, theirs = rules["offsets"][bisect.bisect_right(changes, at)], offset(zone, at)
            if ours != theirs:
                wrong[name] = [str(moment(at)), ours, theirs]
                break
    return wrong


def walls(zones):
    """Of a doubled local time the first instant; a missing one moves forward by the gap (PEP 495, fold=0)."""
    return {
        name: [seconds((moment(wall).replace(tzinfo=zoneinfo.ZoneInfo(name), fold=0)).astimezone(UTC)) for wall in of]
        for name, of in zones.items()
    }


def begins(zone, day):
    """The first instant at which the calendar shows this day, or a later one."""
    local = dt.datetime(day.year, day.month, day.day, tzinfo=zone, fold=0)
    start = local.astimezone(UTC)
    if start.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return seconds(start)
    # Midnight is missing: the day begins where the clock jumps.
    low, high = seconds(start) - 2 * 86400, seconds(start)
    before = offset(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        if offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    return high


def unit_of(unit, day, step=0):
    if unit == "day":
        return day + dt.timedelta(days=step)
    if unit == "week":
        return day - dt.timedelta(days=day.weekday()) + dt.timedelta(weeks=step)
    if unit == "month":
        month = day.year * 12 + day.month - 1 + step
        return dt.date(month // 12, month % 12 + 1, 1)
    return dt.date(day.year + step, 1, 1)


def window(name, unit, at):
    zone = zoneinfo.ZoneInfo(name)
    day = moment(at).astimezone(zone).date()
    # A unit that has begun goes on where the clock goes back over its beginning.
    edges = sorted({begins(zone, unit_of(unit, day, step)) for step in (-2, -1, 0, 1, 2)})
    index = bisect.bisect_right(edges, at)
    return [edges[index - 1], edges[index]]


question = json.load(sys.stdin)
ask = question["ask"]
if ask == "about":
    folder = os.path.join(os.path.dirname(tzdata.__file__), "zoneinfo")
    with open(os.path.join(os.path.dirname(tzdata.__file__), "zones")) as lines:
        names = lines.read().split()
    answer = {"version": tzdata.IANA_VERSION, "folder": folder, "names": names}
elif ask == "offsets":
    answer = offsets(question["zones"])
elif ask == "walls":
    answer = walls(question["zones"])
else:
    answer = [window(*case) for case in question["cases"]]
json.dump(answer, sys.stdout)
