#!/usr/bin/env python3
"""Draws the pipeline at work, from waves: hardware/routing-device/picture.py PICTURE.svg

Verilator runs the device with the packets of the paper's Table I, then a rejection; what stands in each stage in each cycle is read from the
waves. Needs Verilator.
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PUSH, FETCH, ANSWER, OPEN, NOTHING = 0, 1, 2, 3, 255
ORANGE, BLUE, GREEN = 0, 1, 2
COLORS = {ORANGE: "#f4b266", BLUE: "#8ab6e8", GREEN: "#93c990"}
KINDS = ["line", "request", "accepted", "rejected"]  # of an entry
# Table I; then the cache rejects the first blue line, and blue asks again.
PACKETS = [(FETCH, BLUE), (FETCH, ORANGE), (PUSH, BLUE), (PUSH, GREEN), (PUSH, BLUE), None, None, "rejected", (FETCH, BLUE)] + [None] * 4
FIRST = 3  # the cycle after the opens


def record(packet):
    if packet is None:
        return struct.pack("<BBHHHQ8Q", NOTHING, 0, 0, 0, 0, 0, *[0] * 8)
    if packet == "rejected":
        return struct.pack("<BBHHHQ8Q", ANSWER, 0, 0, 0, 0, 0, *[0] * 8)
    kind, sqi = packet
    return struct.pack("<BBHHHQ8Q", kind, 0, sqi, 0, 0, sqi, *[sqi] * 8)


def waves(folder):
    """The values of the device's signals in each cycle."""
    build = [HERE / "build", folder, "--trace", "-GENTRIES=4", "-GLINKS=3", "-GLINE=64"]
    subprocess.run(build, check=True)
    packets = [(OPEN, sqi) for sqi in range(FIRST)] + PACKETS
    bytes_in = struct.pack("<I", len(packets)) + b"".join(record(packet) for packet in packets)
    subprocess.run([f"{folder}/cosim", f"{folder}/waves.vcd"], input=bytes_in, stdout=subprocess.DEVNULL, check=True)
    names, values, cycles, time, scope = {}, {}, [], 0, []
    for line in pathlib.Path(folder, "waves.vcd").read_text().splitlines():
        line = line.strip()
        if line.startswith("$scope"):
            scope.append(line.split()[2])
        elif line.startswith("$upscope"):
            scope.pop()
        elif line.startswith("$var") and scope[-1] == "routing_device":
            _, _, _, key, name, *_ = line.split()
            names.setdefault(key, []).append(name)
        elif line.startswith("#"):
            # While the clock is low, everything has come to rest. Two cycles of reset are first.
            if time % 10 == 0 and time >= 20:
                cycles.append(dict(values))
            time = int(line[1:])
        elif line[:1] in ("0", "1", "b"):
            value, key = line[1:].split() if line[0] == "b" else (line[0], line[1:])
            for name in names.get(key, []):
                values[name] = int(value, 2)
    if time % 10 == 0:
        cycles.append(dict(values))
    return cycles[FIRST:][: len(PACKETS)]


def shown(now):
    """What stands at the port, in the stages and at the end in a cycle: (queue, lines of text), by row. And what is forwarded."""
    cells, forwards = {}, []
    if now["packet"]:
        # An answer names a slot; the picture has one line under way, the blue one.
        what = {PUSH: "line", FETCH: "request", ANSWER: "answer: no"}[now["kind"]]
        cells[0] = (BLUE if now["kind"] == ANSWER else now["sqi"], [what, "taken" if now["taken"] else "refused"])
    reads = "answer" if now["read_answer"] else "request" if now["read_request"] else "line" if now["read_line"] else ""
    if reads:
        cells[1] = (now["read_sqi"], [reads, "reads its row"])
        if now["w"] and now["w_sqi"] == now["read_sqi"]:
            forwards.append(1)
    if now["r"]:
        cells[2] = (now["r_sqi"], [KINDS[now["r_kind"]], "hit" if now["hit"] else "miss"])
        if now["w"] and now["w_sqi"] == now["r_sqi"]:
            forwards.append(2)
    if now["w"]:
        cells[3] = (now["w_sqi"], ["to OUT"] if now["w_hit"] else ["into its list"])
    if now["sent"]:
        cells[4] = (now["sent_line"], ["a line leaves"])
    return cells, forwards


def svg(cycles):
    left, top, wide, high = 118, 34, 92, 62
    rows = ["port", "stage 1", "stage 2", "stage 3", "out"]
    width, height = left + wide * len(cycles) + 8, top + high * len(rows) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    text = lambda x, y, what, more="": out.append(f'<text x="{x}" y="{y}" fill="#222" {more}>{what}</text>')
    for row, name in enumerate(rows):
        text(8, top + high * row + high / 2, name, 'font-weight="bold"')
    for row, what in [(1, "linkTab[SQI]"), (2, "hit or miss"), (3, "writes")]:
        text(8, top + high * row + high / 2 + 16, what)
    text(8, 20, "cycle")
    for at, now in enumerate(cycles):
        x = left + wide * at
        # The cycles are the table's: the first packet comes before its cycle 1.
        text(x + wide / 2 - 4, 20, at)
        out.append(f'<line x1="{x - 2}" y1="26" x2="{x - 2}" y2="{top + high * len(rows)}" stroke="#ddd"/>')
        cells, forwards = shown(now)
        for row, (queue, words) in cells.items():
            y = top + high * row
            out.append(f'<rect x="{x}" y="{y + 4}" width="{wide - 5}" height="{high - 20}" rx="6" fill="{COLORS[queue]}"/>')
            for number, word in enumerate(words):
                text(x + 6, y + 22 + 16 * number, word)
        for row in forwards:
            # From the upper edge of stage 3 to the lower edge of the stage that gets the row.
            x0, y0, y1 = x + wide - 14 - 8 * row, top + high * 3 + 4, top + high * (row + 1) - 15
            out.append(f'<path d="M{x0} {y0}V{y1}m-4 6l4-6l4 6" fill="none" stroke="#b00020" stroke-width="2"/>')
    text(left, height - 14, "Colours are queues. Red arrows: stage 3 forwards the row that it writes. Drawn from the waves of a run.")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(sys.argv[1]).write_text(svg(waves(folder)))


main()
