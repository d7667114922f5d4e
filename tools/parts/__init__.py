"""What verbs are made of; knows no `Tool`."""
