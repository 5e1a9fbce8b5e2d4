"""A bulk load on Spark: files become pieces, rows go to the task that has their part of the key, and one commit names
all that the tasks wrote.

    files ──▶ pieces ──▶ rows, cut by key ──▶ Spark's shuffle ──▶ the embedded loader ──▶ objects ──▶ one commit
              └──────────── tasks ────────────┘               └──────── tasks ────────┘             └── driver ──┘

What reads a piece is the embedded reader, and what makes objects the embedded loader: so a row is the same whichever
engine took it in.

files       an input, wherever it lies, and whether it is still the same
survey      a look at the files before they are read: formats, and where to cut the keys
pieces      parts of files, each for one task
reading     the rows of a piece
keyed       keys as SQL, and in which part of the key each row lies
shuffled    rows on their way between tasks
places      where a row stood, for whoever must name it
tasks       what executors do
load        all of it
"""
