"""Git's verbs over repositories."""
