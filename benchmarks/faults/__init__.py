"""A seeded campaign of faults: runs of every method and engine are hurt in every way that a machine can, and judged.

    python -m benchmarks.faults --count 10000 --seed 1 [--only N] [--workers 2] [--json docs/benchmarks/faults.json]

    scenes.py     the photos, all of people who do not exist
    cases.py      what is run
    fault.py      which fault has which number
    place.py      the folders, disks and weights of one fault
    process.py    one run in a process of its own, and what strikes it
    kinds.py      what each kind of fault does, and what the program must say of it
    reference.py  what an undisturbed run gives
    judge.py      is an original to be seen? A detector and a recogniser that no run uses
    checks.py     what must hold after a fault
    campaign.py   one fault from its arrangement to the last check
    table.py      what became of them

The faults are real: signals, file systems without room, files that change. Nothing of the program is replaced.
"""
