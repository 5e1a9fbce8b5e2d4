"""Queries over HTTP.

    request ──▶ Queries ──▶ a thread: plan, read, write ──▶ bytes ──▶ response
                  │ waiting                                  one ahead of the client
                  └─ 429

request    what the body asks for, and the form of the answer
queries    all of them, a few at once
query_run  one query: how far it is, and its end
thread     where queries run, one after the other, on a lake of their own
output     rows as bytes, from the thread to the event loop
response   bytes as the body of an answer
handlers   the routes
"""
