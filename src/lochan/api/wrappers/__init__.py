"""Wrappers of the verbs: rights, use and audit. The table of verbs says what each of them needs.

proxy       a handle whose every verb goes through a layer
resources   what a call is about, as policies name it
guard       the layer that checks rights
records     the layers that record use, and who did what; and all layers around a lake, in their one order
"""
