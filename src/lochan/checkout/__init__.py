"""A folder of this machine that holds the files of a ref, and the changes that were made there since.

    state       the state that the folder was made from, in `.lochan/checkout`
    names       checks which paths can be files
    ignore      the files that `.lochanignore` leaves out
    changes     the differences between the folder and its state
    cache       contents that several checkouts share by hard links
    plan        the files that a pull writes, removes, and would overwrite
    transfer    files on their way into the folder

These modules do not depend on a lake: they read from a `FileSource`, which `lochan.api.checkout` makes of a ref."""
