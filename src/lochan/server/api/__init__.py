"""Contains the API of the server, over HTTP. Queries go this way:

request ──▶ Queries ──▶ a thread: plan, read, write ──▶ bytes ──▶ response
              │ waiting                                  one ahead of the client
              └─ 429

query_handlers   the routes of queries, and their rows as the body of an answer
query_request    checks the body of a request, and finds the form of the answer
queries          all queries of a server, a few at once
query_run        one query: its progress, and its end
query_thread     runs queries, one after the other, on a lake of its own"""
