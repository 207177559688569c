#!/usr/bin/env python3
"""Writes the files that fuzzing of Nsight Compute's tables starts from: seed_ncu.py FOLDER."""
import os
import sys

LAUNCH = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
DETAILS = LAUNCH + ',"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"\n'
ROW = '"0","7","app","127.0.0.1","add<float>(int, ""x"")","1","7","(256, 1, 1)","(1024, 1, 1)","0","8.0"'
METRIC = ROW + ',"Occupancy","Achieved Occupancy","%","96.26",\n'
RULE = ROW + ',"SpeedOfLight","","","","SOLBottleneck","OPT","look, here","local","98.86"\n'
RAW = LAUNCH + ',"gpu__time_duration.sum","launch__grid_dim_x"\n,,,,,,,,,,,"ns",""\n'

FILES = {
    "details": DETAILS + METRIC + RULE,
    "metrics": LAUNCH + ',"Section Name","Metric Name","Metric Unit","Metric Value"\n' + METRIC,
    "raw": RAW + ROW + ',"1,024","9"\n' + ROW.replace('"0"', '"1"', 1) + ',"n/a",""\n',
    "mark": "\ufeff==PROF== Connected\nhello\n" + DETAILS + METRIC,
    "messages_only": "==PROF== Connected\n==ERROR== no\n",
    "between": DETAILS + METRIC + "printed, by the program\n==PROF== x\n" + RULE,
    "two_runs": RAW + ROW + ',"1","2"\n' + DETAILS + METRIC,
    "units_missing": RAW.split("\n")[0] + "\n" + ROW + ',"1","2"\n',
    "comma_numbers": DETAILS + METRIC.replace("96.26", "27.595.520,25"),
    "bad_triples": RAW + ROW.replace("(256, 1, 1)", "(256, 1").replace("(1024, 1, 1)", "(-1, 99999999999999999999, 1)") + ",1,2\n",
    "huge_number": DETAILS + METRIC.replace("96.26", "9" * 59) + METRIC.replace("96.26", "1e999"),
    "cut_in_quotes": (DETAILS + METRIC + RULE)[:-30],
    "cut_in_header": DETAILS[:40],
    "header_only": DETAILS,
    "same_columns": '"ID","Process ID","ID","Kernel Name","Kernel Name","Metric Name"\n0,1,2,k,k,m\n',
    "no_kernel": '"ID","Process ID"\n0,7\n',
}

for name, text in FILES.items():
    with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as f:
        f.write(text)
