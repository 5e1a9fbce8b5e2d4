"""The rules that keep a journal safe, each a decision of one or two lines, named as in docs/design/0001-journal.md.

They stand apart from the code that acts on them so that each can be read beside its reason, and so that the simulator
can take one away and show that something breaks. Nothing but the simulator passes any other `Rules` than `RULES`.
"""

from typing import Final

from lochan.formats.record import Sealed

WRITER_TRUST_S: Final = 60.0
READER_TRUST_S: Final = 3_600.0
TRIM_AGE_S: Final = 86_400.0
KEY_AHEAD_MAX_US: Final = 5 * 60 * 1_000_000


class Rules:
    # --- J1: same number, same put-id, same bytes -------------------------------------------------------------------
    def retried(self, sealed: Sealed) -> Sealed:
        """A retry repeats the bytes exactly; requests that came since wait for the next record. Otherwise the first
        try may have landed, and we take it for a rival's, or acknowledge events that are not in it."""
        return sealed

    # --- J2: success is our put-id in the slot, failure is another's, all else is unknown ----------------------------
    def reads_back(self) -> bool:
        """AlreadyExists, 409, 412, a timeout and a 5xx say nothing: our own put may have landed."""
        return True

    def undecided_is_unknown(self) -> bool:
        """A put that timed out may land after we answered; so the answer is "unknown", never "failed"."""
        return True

    # --- J3: a batch is checked in order, each request against the state with the earlier ones of the batch ----------
    def sees_earlier_of_batch(self) -> bool:
        return True

    # --- J4: segments are tombstones ---------------------------------------------------------------------------------
    def may_pack(self, last_of_group: int, next_number: int) -> bool:
        """Only a full group is packed: a number without its record would be closed to its writer."""
        return next_number > last_of_group

    # --- J5 and J6: what a slot says counts only with its segment absent ---------------------------------------------
    def consults_segments(self) -> bool:
        return True

    def may_trust_slot(self, *, aged: bool, trust_s: float, anchor: float, asked: float, answered: float) -> bool:
        """J6: the segment read may be skipped if the answer came soon after the *sending* of an absent probe that J5
        confirmed: what was absent then cannot have been trimmed since, for nothing is trimmed before it is a day old.
        Tested after the answer: a process may be stopped between asking and hearing. Not on disk, where nothing waits
        a day and a look costs nothing."""
        return aged and answered - anchor <= trust_s

    def anchor_of_absent(self, *, asked: float, answered: float) -> float:
        """An absent answer is as old as its question."""
        return asked

    def anchor_of_unconfirmed(self, anchor: float, asked: float) -> float:
        """An absent answer that the segment has not confirmed renews nothing."""
        return anchor

    def anchor_of_present(self, anchor: float, asked: float) -> float:
        """A present answer renews nothing: the slot after it may have been trimmed long ago."""
        return anchor

    def may_delete(
        self, *, aged: bool, now: float, slot: float, segment: float | None, checkpoint: float | None
    ) -> bool:
        """J6 needs the slot, its segment and a checkpoint past it each to be over a day old by the store's own clock.
        Three stamps, so that one node of the store with a wrong clock does not open the door."""
        if not aged:
            return segment is not None
        return (
            self.slot_is_old(now, slot)
            and segment is not None
            and self.segment_is_old(now, segment)
            and checkpoint is not None
            and self.checkpoint_is_old(now, checkpoint)
        )

    def slot_is_old(self, now: float, modified: float) -> bool:
        return now - modified > TRIM_AGE_S

    def segment_is_old(self, now: float, modified: float) -> bool:
        return now - modified > TRIM_AGE_S

    def checkpoint_is_old(self, now: float, modified: float) -> bool:
        return now - modified > TRIM_AGE_S

    def trims_by_store_clock(self) -> bool:
        """`now` is the Last-Modified of an object the trimmer has just written, never the trimmer's own wall clock."""
        return True

    def measures_by_boot_clock(self) -> bool:
        """Freshness is measured on the clock that never jumps."""
        return True

    # --- J7: a checkpoint is a shortcut, never evidence ---------------------------------------------------------------
    def anchor_of_checkpoint(self, now: float) -> float:
        """Loading a checkpoint, however new, shows nothing about the slots after it."""
        return NEVER

    # --- J8: idempotency keys ----------------------------------------------------------------------------------------
    def checks_keys_at_append(self) -> bool:
        return True

    def checks_keys_in_fold(self) -> bool:
        return True

    def key_is_too_old(self, key_time: int, floor: int) -> bool:
        """At or below the floor the table may have forgotten it: the answer is "unknown", and it is never executed."""
        return key_time <= floor

    def key_is_from_the_future(self, key_time: int, record_time: int) -> bool:
        return key_time > record_time + KEY_AHEAD_MAX_US


NEVER: Final = float("-inf")
RULES: Final = Rules()
