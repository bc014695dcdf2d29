#!/usr/bin/env python3
"""Area and delay of the device: hardware/routing-device/area.py [ENTRIES ...]

Yosys maps it to the cells of a liberty file, and everything is scaled to 16 nm. Writes docs/measured/hardware/routing-device.jsonl, a record
for each device and number of entries; the guide's chapter has the table. Needs Yosys and the liberty file: apt-get install yosys
qflow-tech-osu018.
"""
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TO = HERE.parent.parent / "docs/measured/hardware/routing-device.jsonl"
LIBERTY = pathlib.Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
NAND2 = 24.0  # um2, of this library: the gate that others are counted in
# A. Stillmaker, B. Baas, Scaling equations for the accurate prediction of CMOS device performance from 180 nm to 7 nm, 2017: areas by their
# table, delays by their polynomials in the supply voltage, 1.8 V and 0.8 V.
AREA = 0.01
DELAY = (24.8 * 0.8**2 - 47.52 * 0.8 + 28.87) / (97.09 * 1.8**2 - 356.7 * 1.8 + 406.5)
# A cell of six transistors at 16 nm has 0.07 um2 (S.-Y. Wu et al., IEDM 2013); twice that for two ports, and again for what is around the
# cells of so small an array.
SRAM = 0.07 * 2 * 2
A72 = 1.15  # mm2, at 16 nm, as the paper has it
# For speed: ABC's usual script makes chains of the trees.
ABC = "+strash;dch;map,-B,0.9;topo;buffer,-c;upsize;dnsize;stime,-p"
DEVICES = {"paper": {"RESERVE": 0, "ANSWERS": 0, "IN_ORDER": 0}, "ours": {}}


def yosys(script):
    done = subprocess.run(["yosys", "-p", script], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr)
    return done.stdout


def mapped(text):
    """The area of the cells in um2, and the longest way through logic in ps."""
    area = float(re.findall(r"Chip area for.*: ([\d.]+)", text)[-1])
    delay = [float(way) for way in re.findall(r"Delay = *([\d.]+) ps", text)]
    return area, delay[-1] if delay else 0


def synthesis(folder, modules, boxes, top, parameters):
    read = " ".join(str(HERE / "rtl" / f"{name}.sv") for name in modules)
    box = f"read_verilog -lib -sv {HERE}/rtl/memory.sv;" if boxes else ""
    settings = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    constraints = pathlib.Path(folder) / "constraints"
    constraints.write_text("set_driving_cell INVX2\nset_load 0.05 [all_outputs]\n")
    return (f"read_verilog -defer -sv {read}; {box} chparam {settings} {top}; hierarchy -auto-top; rename -top top; proc; flatten; opt -full; "
            f"memory; opt -full; techmap; opt; dfflibmap -liberty {LIBERTY}; abc -liberty {LIBERTY} -constr {constraints} -script {ABC}; clean; "
            f"stat -liberty {LIBERTY}; write_json {folder}/top.json")


def measure(device, entries):
    parameters = {"ENTRIES": entries, "LINKS": entries, "QUOTA": entries, **DEVICES[device]}
    with tempfile.TemporaryDirectory() as folder:
        modules = ["entry_list", "free_list", "shares", "routing_device"]
        control, delay = mapped(yosys(synthesis(folder, modules, True, "routing_device", parameters)))
        cells = json.loads((pathlib.Path(folder) / "top.json").read_text())["modules"]["top"]["cells"].values()
        sizes = [cell["parameters"] for cell in cells if cell["type"] == "memory"]
        bits = sum(int(size["WIDTH"], 2) * int(size["DEPTH"], 2) for size in sizes)
        # The same buffers of flip-flops: a slice of eight bits, with its share of the decoders.
        flops, _ = mapped(yosys(synthesis(folder, ["memory"], False, "memory", {"WIDTH": 8, "DEPTH": entries})))
    in_flops = bits * flops / (8 * entries)
    mm2 = lambda um2: round(um2 / 1e6, 4)
    logic, buffers, sram = control * AREA, in_flops * AREA, bits * SRAM
    return {
        "device": device, "entries": entries, "bits": bits, "gates": round(control / NAND2), "control": mm2(logic),
        "flip-flops": mm2(buffers), "total": mm2(logic + buffers), "of an A72": f"{(logic + buffers) / 1e4 / A72:.1f} %",
        "SRAM": mm2(sram), "total with SRAM": mm2(logic + sram), "of an A72 with SRAM": f"{(logic + sram) / 1e4 / A72:.1f} %",
        "180 nm": round(delay), "16 nm": round(delay * DELAY),
    }


def main():
    if not LIBERTY.exists():
        sys.exit(f"{LIBERTY} is not there: apt-get install qflow-tech-osu018")
    version = subprocess.run(["yosys", "-V"], capture_output=True, text=True).stdout.split("(")[0].strip()
    factors = f"area from 180 to 16 nm × {AREA}, delay × {DELAY:.3f}, SRAM {SRAM:.2f} µm² a bit"
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    note = f"{version}, {LIBERTY.name}; {factors}"
    records = [{"unit": "mm² at 16 nm, ps", "note": note, "command": "hardware/routing-device/area.py", "date": date}]
    for entries in [int(entries) for entries in sys.argv[1:]] or [16, 32, 64, 128, 256]:
        for device in DEVICES:
            records.append(measure(device, entries))
            print(records[-1], flush=True)
    TO.parent.mkdir(parents=True, exist_ok=True)
    TO.write_text("".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records))


main()
