"""Wrappers of the verbs: rights, use and audit. The table of verbs lists what each verb needs.

proxy       a handle whose verbs all go through layers
resources   the resources of a call, as policies name them
guard       the layer that checks rights
records     the layers that record uses and calls, and all layers around a lake, in their one order"""
