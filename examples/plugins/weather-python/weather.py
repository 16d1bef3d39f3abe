#!/usr/bin/env python3
"""A plugin in Python with nothing but the standard library: the line protocol, one thread a call."""

import json
import sys
import threading

CITIES = json.load(open("cities.json"))
cancelled: dict[int, threading.Event] = {}
lock = threading.Lock()
units = "metric"
editor = None


def say(**frame):
    with lock:
        print(json.dumps(frame), flush=True)


def temperature(celsius):
    return f"{celsius} °C" if units == "metric" else f"{celsius * 9 / 5 + 32:g} °F"


class Failed(Exception):
    """Something the model should know about."""


def city(name):
    for known in CITIES:
        if known.lower() == name.strip().lower():
            return known
    raise Failed(f"no city is called '{name}'; there are {', '.join(sorted(CITIES))}")


def forecast(call, arguments):
    name = city(arguments["city"])
    days = [
        {"day": day, "temperature": temperature(CITIES[name]["celsius"] + day), "sky": CITIES[name]["sky"]}
        for day in range(arguments.get("days", 1))
    ]
    text = "; ".join(f"day {day['day']}: {day['temperature']}, {day['sky']}" for day in days)
    return {"text": f"{name}: {text}", "structured": {"city": name, "days": days}}


def report(call, arguments):
    lines = []
    for done, name in enumerate(sorted(CITIES), 1):
        # Whoever waits can be told to stop waiting.
        if cancelled[call].wait(arguments.get("pause_ms", 0) / 1000):
            return None
        lines.append(f"{name}: {temperature(CITIES[name]['celsius'])}")
        say(type="progress", id=call, progress=done, total=len(CITIES), message=name)
    return {"text": "\n".join(lines)}


def correct(call, arguments):
    name = city(arguments["city"])
    CITIES[name]["celsius"] = arguments["celsius"]
    return {"text": f"{name} is now {temperature(CITIES[name]['celsius'])}"}


TOOLS = {"weather_forecast": forecast, "weather_report": report, "weather_correct": correct}


def run(frame):
    call = frame["id"]
    try:
        result = TOOLS[frame["tool"]](call, frame["arguments"])
        if result is not None:
            say(type="result", id=call, **result)
    except Failed as failure:
        say(type="error", id=call, message=str(failure))
    except Exception as error:
        print(f"{frame['tool']} broke: {error!r}", file=sys.stderr, flush=True)
        say(type="error", id=call, message="the plugin broke; its log has more")
    finally:
        cancelled.pop(call, None)


for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "hello":
        units = frame["config"]["units"]
        say(type="describe", protocol=1, tools=[{"name": name} for name in TOOLS])
        say(type="log", level="info", message=f"{len(CITIES)} cities, {units} units")
    elif frame["type"] == "call":
        cancelled[frame["id"]] = threading.Event()
        threading.Thread(target=run, args=(frame,), daemon=True).start()
    elif frame["type"] == "cancel" and frame["id"] in cancelled:
        cancelled[frame["id"]].set()
