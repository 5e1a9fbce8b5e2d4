"""The rules that the fold of a repository and its writers enforce, one method each, so that a test can remove one and
see what breaks. Each method returns whether its rule holds. The letters are those of docs/design."""


class RefsRules:
    def committed_needs_its_seal(self) -> bool:
        """S1. A commit needs its seal. It is not enough that the head is still the parent: the branch may have been
        reset, or created again."""
        return True

    def head_moves_remove_seals(self) -> bool:
        """S1. Every move of the head removes the seals, and so do resets, restores, deletions, stash pushes and
        pops."""
        return True

    def turns_are_kept(self) -> bool:
        """S1. Requests move a branch in their turn. Without this rule nothing is lost, but a commit may starve."""
        return True

    def compaction_needs_its_inputs(self) -> bool:
        """S2. All inputs of a compaction must exist, side by side, in the same incarnation of the branch."""
        return True

    def dropped_tombstones_need_the_head(self) -> bool:
        """S3. Tombstones are dropped for one head. A path that was not in the old head may be in the new one."""
        return True

    def leftovers_lie_below_later_writes(self) -> bool:
        """S4. The changes that a commit leaves staged lie below those that were written later."""
        return True

    def moves_spare_staged_paths(self) -> bool:
        """S5. A move never changes a path with a staged change: a staged entry or tombstone would hide what the move
        added."""
        return True

    def merges_need_a_clean_branch(self) -> bool:
        """S5. A merge needs a branch without staged changes."""
        return True

    def pools_have_no_staging(self) -> bool:
        """S5. Only head moves add objects to a pool; staged changes would hide them."""
        return True

    def moves_need_their_head(self) -> bool:
        """S6. A move is valid only on the head it was computed on."""
        return True

    def moves_need_their_incarnation(self) -> bool:
        """S6. A move is valid only in one incarnation: a branch that was made again can have the same head. Its staging
        positions start over, so changes staged there would not look new to a move that has looked at the staging of the
        earlier branch."""
        return True

    def workspace_commits_need_its_last_event(self) -> bool:
        """S8. The commit of a workspace names its last event. A write after the commit's last look would be lost."""
        return True

    def workspace_commits_close_it(self) -> bool:
        """S8. The event that commits a workspace closes it."""
        return True

    def workspace_commits_need_the_incarnation(self) -> bool:
        """S8. A workspace is committed only to its own branch. One that was created again under the same name is
        another branch."""
        return True

    def workspaces_merge_against_their_fork(self) -> bool:
        """S8. A workspace is merged against the commit it was opened on. If it were compared with the head, a path that
        was changed since would be overwritten."""
        return True

    def pops_need_a_clean_branch(self) -> bool:
        """S9. A stash is restored only on a branch without staged changes."""
        return True

    def pops_need_their_head(self) -> bool:
        """S9. A stash is restored only on one head: the check whether it has changed a stashed path was made for that
        head."""
        return True

    def stashes_take_the_staging_along(self) -> bool:
        """S9. A stash takes the changes out of the staging. A change is stashed or staged, never both."""
        return True

    def first_references_are_young(self) -> bool:
        """G3. The first reference to a file names one that is not older than the cut."""
        return True

    def derived_events_are_fresh(self) -> bool:
        """G4. An event is not derived from a state before a plan."""
        return True

    def closed_repositories_stay_closed(self) -> bool:
        """G9. A closed repository stays closed. A writer that had it open when it was deleted would add to it, perhaps
        after its files were deleted."""
        return True

    def aliases_need_their_tables(self) -> bool:
        """G7. Aliases name the tables that they were made from. Two makers that have read the same tables could alias
        two files to each other."""
        return True


RULES = RefsRules()
