"""The verbs over HTTP, for both sides: requests and answers, as the table of verbs and the signatures of the nouns
determine them. The server makes its routes from this, and the remote lake its calls.

    annotations   the types behind the annotations of verbs
    call          the place of each argument of a verb in a request, and the form of its answer
    values        arguments and results as JSON
    errors        errors as JSON, and back as the very same class"""
