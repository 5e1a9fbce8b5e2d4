"""Sends events to the subscriptions of a lake, at least once, in the order of each journal.

deliverer     looks for events that were not sent, and sees to it that one server of several sends them
subscriber    one subscription: what it is sent, how far it is, and what it did not take
event_match   which events a subscription is about
"""
