"""`kernelwright install`: the server named in the settings of an MCP client."""
