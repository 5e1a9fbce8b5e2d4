"""Sends events to the subscriptions of a lake, at least once, in the order of each journal.

deliverer     finds events that were not sent, and ensures that one server of several sends them
subscriber    one subscription: the events that it gets, its position, and the events that its receiver refused
event_match   selects the events of a subscription"""
