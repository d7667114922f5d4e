"""From the counters of a profile to findings: a table of rules, one row each; pure."""
