"""Garbage collection of one repository, by the rules of docs/design/0004-collection.md.

roots       what the state of a journal names: trees, runs, addresses, folders that are held open
marks       the files that roots name, read from trees and runs
listing     the files that the store has, with their kinds and mint numbers
plan        the files that nothing names any more, on a permanent list
sweep       deletes what a plan lists
retention   which commits and deleted branches may expire
"""
