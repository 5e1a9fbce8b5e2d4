"""Contains the REST API below /api/v1, which clients written for lakeFS speak, with one file for each resource.

operation       what an operation is: its request, its answers, the function that handles it
wire            the values that requests and answers hold, as the published client knows them
pages           lists, page by page
repositories    repositories, branches, tags, commits, refs, objects, staging, imports, configuration: the resources
routes          all operations, in one table
openapi         the document that describes them, made from that table

A handler only translates. It calls verbs of `lochan.api` on a lake that checks rights, and decides nothing itself.
"""
