"""A lake behind a server: the same nouns and verbs as in `lochan.api`, each of them a request.

http         requests over keep-alive connections: TCP, TLS, a Unix socket
address      the server of a lake, and the credentials for it
signature    signed requests, for connections on which others could read a secret
server       the server of a lake: credentials, errors, retries
nouns        the nouns, with a method for each row of the table of verbs
request      a verb as a request, and its answer as a result
opened       an object that was opened
rows         rows of queries and of loads
loads        files of rows, from this machine
files        verbs on files of this machine, which are read and written here
"""
