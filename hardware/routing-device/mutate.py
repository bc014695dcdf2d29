#!/usr/bin/env python3
"""Breaks the Verilog, one place at a time, and sees who notices: hardware/routing-device/mutate.py [NUMBER ...]

By co-simulation with the model (10^4 cycles of each device) and by `prove` (all traffic of 11 cycles on two slots). Needs Verilator, Yosys and
Cargo. Red is good; it ends with an error if co-simulation lets a mutation pass. Which list is read first is none of them: no two have a head at the same
time, which `prove` checks.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DEVICE, LIST, FREE, SHARES = "routing_device.sv", "entry_list.sv", "free_list.sv", "shares.sv"
MUTATIONS = [  # what breaks, file, text, what stands there then
    ("stage 3 does not forward the row to stage 2", DEVICE, "d_row = w && w_sqi == r_sqi ? w_row : r_row", "d_row = r_row"),
    ("stage 3 does not forward the row to stage 1", DEVICE, "r_row <= w && w_sqi == read_sqi ? w_row\n            : ", "r_row <= "),
    ("prodBuf.LINK is not forwarded", DEVICE, "w_prod_link && w_prod_at == d_row.prod_head ? w_prod_next : ", ""),
    ("consBuf's list is not forwarded", DEVICE, "w_cons_link && w_cons_at == d_row.cons_head ? w_cons_next : ", ""),
    ("a rejected line goes to the end of its queue", DEVICE, "r_kind == REJECTED) d_new.prod_head", "0) d_new.prod_head"),
    ("a rejected line's slot is free", DEVICE, "w_free <= r && r_kind == ACCEPTED", "w_free <= r && is_answer"),
    ("an accepted line's slot is never free", DEVICE, "w_free <= r && r_kind == ACCEPTED", "w_free <= r && 0"),
    ("a line overtakes an unanswered one", DEVICE, "IN_ORDER && d_row.unanswered && !is_answer", "0"),
    ("a line that was mapped stays in its list", DEVICE, "if (hit && !new_line)", "if (hit && !new_line && !new_request)"),
    ("a request is used twice", DEVICE, "d_new.cons = d_row.cons_head != d_row.cons_tail", "d_new.cons = 1"),
    ("what comes as the last one leaves is forgotten", LIST, "wire left = some && !(pop && head == tail)", "wire left = some"),
    ("a slot that is given back is free a cycle later", FREE, "valid & ~given)", "valid)"),
    ("the free register stands still", FREE, "if (take) next <=", "if (0) next <="),
    ("reserved slots are anybody's", SHARES, "(own || spared != 0)", "1"),
    ("there is no quota", SHARES, "here < MOST && ", ""),
    ("a slot of another is counted as one's own", SHARES, "give && give_sqi == sqi", "give"),
]


def red(command, **environment):
    """Whether it fails."""
    done = subprocess.run(command, cwd=HERE.parent.parent, env={**os.environ, **environment}, capture_output=True, text=True)
    return "red" if done.returncode else "-"


def main():
    cargo = "cargo test -q --locked -p thalweg-link --test device -- --ignored the_hardware_does".split()
    numbers = [int(number) for number in sys.argv[1:]] or range(1, len(MUTATIONS) + 1)
    passed = []
    print("| | what breaks | co-simulation | proof |\n|---|---|---|---|")
    for number in numbers:
        name, file, old, new = MUTATIONS[number - 1]
        with tempfile.TemporaryDirectory() as folder:
            rtl = pathlib.Path(folder) / "rtl"
            shutil.copytree(HERE / "rtl", rtl)
            text = (rtl / file).read_text()
            if text.count(old) != 1:
                sys.exit(f"mutation {number}, {name}: {old!r} is there {text.count(old)} times in {file}, and must be once")
            (rtl / file).write_text(text.replace(old, new))
            lint = {"RTL": str(rtl), "LINT": "off", "THALWEG_DEVICE_CYCLES": "10000"}
            cosim, proof = red(cargo, **lint), red([HERE / "prove", "11"], RTL=str(rtl))
        print(f"| {number} | {name} | {cosim} | {proof} |", flush=True)
        passed += [number] if cosim == "-" else []
    if passed:
        sys.exit(f"co-simulation does not notice mutations {passed}")


main()
