"""Every verb over HTTP, from the table of verbs and the signatures of the nouns.

operations   an operation for each verb, for the routes and the OpenAPI document
arguments    turns path, query string and body of a request into arguments
answers      results as answers: JSON, lines, bytes, Arrow
bodies       verbs whose request or answer is bytes
rows         verbs about rows
tasks        verbs that run in the background
task_routes  the routes to begin, inspect and cancel tasks"""
