"""Queries over HTTP.

    request ──▶ wish, form ──▶ Queries ──▶ a thread: plan, read, write ──▶ pieces ──▶ answer
                                 │ waiting                                    one ahead of the client
                                 └─ 429

wish      what the body asks for
forms     what the answer is to look like
running   one query: how far it is, and its end
pieces    from its thread to the event loop
thread    where queries run, one after the other, on a lake of their own
queries   all of them, a few at once
writing   rows as pieces of bytes
answer    pieces as the body of an answer
resource  the routes
metrics   what is counted
"""
