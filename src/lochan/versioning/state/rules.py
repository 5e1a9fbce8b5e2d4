"""The rules that the fold of a repository and its writers enforce, one method each, so that a test can remove one and
see what breaks. The letters are those of docs/design."""


class RefsRules:
    def committed_needs_its_seal(self) -> bool:
        """S1. It is not enough that the head is still the parent: the branch may have been reset, or created again."""
        return True

    def head_moves_remove_seals(self) -> bool:
        """S1. Resets, restores, deletions, stash pushes and pops do so too."""
        return True

    def turns_are_kept(self) -> bool:
        """S1. Without this rule nothing is lost, but a commit may starve."""
        return True

    def compaction_needs_its_inputs(self) -> bool:
        """S2. All inputs must be there, side by side, in the same incarnation of the branch."""
        return True

    def dropped_tombstones_need_the_head(self) -> bool:
        """S3. A path that was not in the old head may be in the new one."""
        return True

    def leftovers_lie_below_later_writes(self) -> bool:
        """S4."""
        return True

    def moves_spare_staged_paths(self) -> bool:
        """S5. A staged entry or tombstone would hide what the move added."""
        return True

    def merges_need_a_clean_branch(self) -> bool:
        """S5."""
        return True

    def pools_have_no_staging(self) -> bool:
        """S5. Only head moves add objects to a pool; staged changes would hide them."""
        return True

    def moves_need_their_head(self) -> bool:
        """S6."""
        return True

    def moves_need_their_incarnation(self) -> bool:
        """S6. A branch that was made again can have the same head. Its staging positions start over, so changes staged
        there would not look new to a move that has looked at the staging of the earlier branch."""
        return True

    def workspace_commits_need_its_last_event(self) -> bool:
        """S8. A write after the commit's last look would be lost."""
        return True

    def workspace_commits_close_it(self) -> bool:
        """S8."""
        return True

    def workspace_commits_need_the_incarnation(self) -> bool:
        """S8. A branch that was created again under the same name is another branch."""
        return True

    def workspaces_merge_against_their_fork(self) -> bool:
        """S8. If it were compared with the head, a path that was changed since would be overwritten."""
        return True

    def pops_need_a_clean_branch(self) -> bool:
        """S9."""
        return True

    def pops_need_their_head(self) -> bool:
        """S9. The check whether the head has changed a stashed path was made for one head."""
        return True

    def stashes_take_the_staging_along(self) -> bool:
        """S9. A change is stashed or staged, never both."""
        return True

    def first_references_are_young(self) -> bool:
        """G3."""
        return True

    def derived_events_are_fresh(self) -> bool:
        """G4."""
        return True

    def closed_repositories_stay_closed(self) -> bool:
        """G9. A writer that had a repository open when it was deleted would add to it, perhaps after its files were
        deleted."""
        return True

    def aliases_need_their_tables(self) -> bool:
        """G7. Two makers that have read the same tables could alias two files to each other."""
        return True


RULES = RefsRules()
