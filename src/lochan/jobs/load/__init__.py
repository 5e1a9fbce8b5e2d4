"""A bulk load on Spark: files become splits, rows go to the task that has their part of the key, and one commit names
all that the tasks wrote.

    files ──▶ splits ──▶ rows, cut by key ──▶ Spark's shuffle ──▶ the embedded loader ──▶ objects ──▶ one commit
              └──────────── tasks ────────────┘               └──────── tasks ────────┘             └── driver ──┘

What reads a split is the embedded reader, and what makes objects the embedded loader: so a row is the same whichever
engine took it in.

files         an input, wherever it lies, whether it is still the same, and where in it a row stood
survey        a look at the files before they are read: formats, and where to cut the keys
file_splits   parts of files, each for one task, and their rows
key_ranges    keys as SQL, and in which part of the key each row lies
shuffle       rows on their way between tasks
load          all of it, and what executors do
"""
