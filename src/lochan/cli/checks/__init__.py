"""What `lochan doctor` looks at, one file per subject."""
