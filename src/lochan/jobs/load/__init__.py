"""A bulk load on Spark: files become splits, rows go to the task that has their part of the key, and one commit names
all objects that the tasks wrote.

    files ──▶ splits ──▶ rows, cut by key ──▶ Spark's shuffle ──▶ the embedded loader ──▶ objects ──▶ one commit
              └──────────── tasks ────────────┘               └──────── tasks ────────┘             └── driver ──┘

The embedded reader reads a split, and the embedded loader makes objects, so a row is the same on every engine.

files         an input, on a disk or in a store, and whether it is still the same
survey        a look at the files before they are read: their formats
sizes         the amount of work for one task
file_splits   parts of files, each for one task, and their rows
positions     the position of a row in its file
key_sample    keys from all over the files
sample_rows   the rows that a sample is taken from
reservoir     a random sample of rows whose number is not known
key_ranges    keys as SQL, and the part of the key that each row belongs to
shuffle       rows between tasks
load          the whole load, and the work of executors"""
