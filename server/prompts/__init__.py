"""Prompts: tasks that users start by name, as slash commands."""
