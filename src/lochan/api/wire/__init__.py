"""The verbs over HTTP, as both sides know them: what the table of verbs and the signatures of the nouns say of a
request and its answer. The server makes its routes of it, and the remote lake its calls.

annotations   the types behind the annotations of verbs
call          where each argument of a verb goes in a request, and the shape of its answer
values        arguments and results as JSON
errors        errors as JSON, and back as the very same class
"""
