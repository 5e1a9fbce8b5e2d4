"""A folder of this machine that holds the files of a ref, and what was changed there since.

state       what the folder was made from, in `.lochan/checkout`
names       which paths can be files
ignore      what `.lochanignore` leaves out
changes     what differs between the folder and its state
cache       contents that several checkouts share by hard links
plan        what a pull writes, removes, and would overwrite
transfer    files on their way into the folder

Nothing here knows a lake: what is read comes from a `FileSource`, which `lochan.api.checkout` makes of a ref.
"""
