"""What HTTP asks for besides the protocol: addresses, tokens, and the gate that asks for them."""
