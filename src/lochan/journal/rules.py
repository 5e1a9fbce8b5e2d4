"""The rules that keep a journal safe, each a decision of one or two lines, named as in docs/design/0001-journal.md.

They are separate from the code that uses them, so that each can be read with its reason, and so that the simulator can
remove one and show what breaks. Only the simulator passes anything other than `RULES`.
"""

from typing import Final, NamedTuple

from lochan.formats.record import SealedRecord

KEY_AHEAD_MAX_US: Final = 5 * 60 * 1_000_000


class JournalRules:
    # These are the times of J6. The simulator's day is shorter, which leaves less room for mistakes.
    writer_trust_s = 60.0
    reader_trust_s = 3_600.0
    trim_age_s = 86_400.0

    # --- J1: same number, same put-id, same bytes -------------------------------------------------------------------
    def retried(self, sealed: SealedRecord) -> SealedRecord:
        """Returns the record to send again. A retry repeats the bytes exactly; requests that came since wait for the
        next record. Otherwise the first attempt may have landed, and we would take it for a rival's, or acknowledge
        events that are not in it."""
        return sealed

    # --- J2: success is our put-id in the slot, failure is another's, all else is unknown ----------------------------
    def reads_back(self) -> bool:
        """Returns whether a writer reads the slot back. AlreadyExists, 409, 412, a timeout and a 5xx prove nothing: our
        own put may have landed."""
        return True

    def undecided_is_unknown(self) -> bool:
        """Returns whether an open outcome is reported as unknown. A put that timed out may land after our answer, so
        the answer is "unknown", never "failed"."""
        return True

    # --- J4: segments are tombstones ---------------------------------------------------------------------------------
    def may_pack(self, last_of_group: int, next_number: int) -> bool:
        """Returns whether the group may be packed. Only a full group is: a number without its record would be closed to
        its writer."""
        return next_number > last_of_group

    def segments_are_synced(self) -> bool:
        """Returns whether a segment is made durable before slots are deleted. On a disk, being visible is not
        enough."""
        return True

    # --- J5 and J6: what a slot says counts only with its segment absent ---------------------------------------------
    def consults_segments(self) -> bool:
        return True

    def may_trust_slot(
        self, number: int, *, aged: bool, trust_s: float, anchor: "Anchor", sent: float, answered: float
    ) -> bool:
        """Returns whether the segment read may be skipped (J6). It may if the answer came soon after the *sending* of
        an absent probe that J5 confirmed: a slot that was absent then cannot have been trimmed since, because nothing
        is trimmed before it is a day old. This is tested after the answer, because a process may be stopped between
        question and answer. It never holds on a disk, where nothing waits a day and a look costs nothing."""
        return aged and self.anchor_covers(anchor, number) and answered - anchor.sent <= trust_s

    def anchor_covers(self, anchor: "Anchor", number: int) -> bool:
        """Returns whether the anchor says anything about this slot. An absent slot proves something about itself and
        later slots. A reader of this process may have moved the anchor past a number that a writer of this process is
        still trying, and that slot may have been trimmed long ago."""
        return anchor.number <= number

    def anchor_of_absent(self, number: int, *, sent: float, answered: float) -> "Anchor":
        """Returns the anchor of an absent answer, which is as old as its question."""
        return Anchor(number, sent)

    def anchor_of_unconfirmed(self, anchor: "Anchor", number: int, sent: float) -> "Anchor":
        """Returns the old anchor: an absent answer without confirmation by the segment renews nothing."""
        return anchor

    def anchor_of_present(self, anchor: "Anchor", number: int, sent: float) -> "Anchor":
        """Returns the old anchor: a present answer renews nothing, because the slot after it may have been trimmed long
        ago."""
        return anchor

    def may_delete(
        self, *, aged: bool, now: float, slot: float, segment: float | None, checkpoint: float | None
    ) -> bool:
        """Returns whether a slot may be deleted. J6 requires that the slot, its segment and a checkpoint past it are
        each over a day old by the store's own clock. There are three times, so that one node of the store with a wrong
        clock is not enough."""
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
        return now - modified > self.trim_age_s

    def segment_is_old(self, now: float, modified: float) -> bool:
        return now - modified > self.trim_age_s

    def checkpoint_is_old(self, now: float, modified: float) -> bool:
        return now - modified > self.trim_age_s

    def trims_by_store_clock(self) -> bool:
        """Returns whether `now` is the Last-Modified of an object the trimmer has just written, and never the trimmer's
        own wall clock."""
        return True

    def measures_by_boot_clock(self) -> bool:
        """Returns whether freshness is measured on the clock that never jumps."""
        return True

    # --- J7: a checkpoint is a shortcut, never evidence ---------------------------------------------------------------
    def anchor_of_checkpoint(self, number: int, now: float) -> "Anchor":
        """Returns no anchor: a checkpoint, however new, proves nothing about the slots after it."""
        return NEVER

    # --- J8: idempotency keys ----------------------------------------------------------------------------------------
    def checks_keys_at_append(self) -> bool:
        return True

    def checks_keys_in_fold(self) -> bool:
        return True

    def key_is_too_old(self, key_time: int, floor: int) -> bool:
        """Returns whether a key is too old. At or below the floor the table may have forgotten it: the answer is
        "unknown", and the request is never carried out."""
        return key_time <= floor

    def key_is_from_the_future(self, key_time: int, record_time: int) -> bool:
        return key_time > record_time + KEY_AHEAD_MAX_US


class Anchor(NamedTuple):
    """A confirmed probe: slot `number` was absent, J5 confirmed it, and the probe was sent at `sent` (boot time)."""

    number: int
    sent: float


NEVER: Final = Anchor(0, float("-inf"))
RULES: Final = JournalRules()
