#!/usr/bin/env python3
"""Gathers what `measure` left in a folder, and writes configuration fragments from it.

    collect.py FOLDER                      the measurements of a folder as one JSON document
    collect.py --fragment MICROBENCH.json  the parameters of configs/gpu that follow from them, as YAML
"""
import csv
import datetime
import json
import pathlib
import sys


def lines(path):
    """The JSON lines of a program's output; a last line that was cut off is left out."""
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            pass
    return found


# measurement, Nsight Compute's output, launches a kind (of two the first brings the data to L2)
COUNTED = [("together", "coalescer.csv", 2), ("touch", "spread.csv", 1)]


def counted(path, kinds, name, every=1):
    """Nsight Compute's counters of the launches of these kinds, `every` of them a kind: those of the last."""
    if not path.exists():
        return []
    rows = [r for r in path.read_text().splitlines() if r.startswith('"')]
    launches = {}
    for row in csv.DictReader(rows):
        if row.get("ID", "").isdigit():
            value = row["Metric Value"].replace(",", "")
            launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = float(value)
    return [{"name": name, "params": p, "counters": launches[i]}
            for p, i in zip(kinds, sorted(launches)[every - 1::every])]


def gather(folder):
    programs = sorted(folder.glob("*.jsonl"))
    measured = [m for p in programs for m in lines(p)]
    device = (folder / "device_before").read_text().strip().split(", ")
    after = (folder / "device_after").read_text().strip().split(", ")
    return {
        "schema": "xpusim.microbench/1",
        "date": datetime.date.today().isoformat(),
        "device": device[0],
        "driver": device[1],
        "clock_sm": {"before": device[2], "after": after[2], "max": device[3]},
        "clock_memory": device[4],
        "measurements": measured + [c for name, file, every in COUNTED for c in counted(
            folder / file, [m["params"] for m in measured if m["name"] == name], f"{name}_counters", every)],
    }


def find(document, name, **params):
    for m in document["measurements"]:
        if m["name"] == name and all(m["params"].get(k) == v for k, v in params.items()):
            return m
    return None


# parameter of configs/gpu: measurement, its parameters, and what is taken off (issue of the next instruction)
FRAGMENT = [
    ("sm.pipes.xu_latency", "latency", {"op": "ex2"}, 0),
    ("sm.pipes.fp64_latency", "latency", {"op": "dfma"}, 0),
    ("sm.pipes.fma_interval", "interval", {"op": "ffma", "warps_a_sub_core": "4"}, 0),
    ("sm.pipes.alu_interval", "interval", {"op": "lop3", "warps_a_sub_core": "4"}, 0),
    ("sm.pipes.fp64_interval", "interval", {"op": "dfma", "warps_a_sub_core": "4"}, 0),
    ("sm.pipes.xu_interval", "interval", {"op": "ex2", "warps_a_sub_core": "4"}, 0),
    ("sm.mio.shuffle_latency", "latency", {"op": "shfl"}, 1),
    ("sm.mio.shared_latency", "shared_latency", {"access": "lds32"}, 1),
    ("sm.mio.membar_latency", "sync", {"what": "membar_gl", "warps": 1}, 0),
]


def fragment(path):
    document = json.loads(pathlib.Path(path).read_text())
    tree = {}
    for key, name, params, less in FRAGMENT:
        m = find(document, name, **params)
        if m is None:
            continue
        at = tree
        *groups, leaf = key.split(".")
        for g in groups:
            at = at.setdefault(g, {})
        what = " ".join(str(v) for v in params.values())
        at[leaf] = f"{round(m['value']) - less}   # {name} {what}: {m['value']} ({m['spread'][0]} to {m['spread'][1]})"
    out = [f"# Measured on {document['device']}, driver {document['driver']}, {document['date']}.", "gpu:"]

    def write(node, indent):
        for k, v in node.items():
            if isinstance(v, dict):
                out.append(f"{indent}{k}:")
                write(v, indent + "  ")
            else:
                out.append(f"{indent}{k}: {v}")
    write(tree, "  ")
    print("\n".join(out))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--fragment":
        fragment(sys.argv[2])
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        document = gather(pathlib.Path(sys.argv[1]))
        head = {k: v for k, v in document.items() if k != "measurements"}
        rows = ",\n".join(json.dumps(m) for m in document["measurements"])
        print(json.dumps(head)[:-1] + ', "measurements": [\n' + rows + "\n]}")
    else:
        sys.exit(__doc__)


main()
