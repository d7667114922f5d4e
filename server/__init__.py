"""The outside: MCP application, jobs, command line."""
