"""From a spec's file to a loaded kernel."""
